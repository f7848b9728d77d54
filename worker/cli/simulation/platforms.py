"""How people play on each of the four platforms, and the match that its server then publishes."""

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from worker.cli.simulation.chance import pick, weighted
from worker.cli.simulation.identities import Identities, Identity
from worker.cli.simulation.people import Person, Population, guest
from worker.ratings.instants import format_instant

Event = dict[str, object]


class Room(NamedTuple):
    """One way to play: what the event says of it, who sits opposite, and why it does not count, if so."""

    mode: str
    reason: str | None = None
    opponent: str = "player"
    fields: Mapping[str, bool] = {}


class Platform(NamedTuple):
    """One ruleset's rooms and habits; each tuple holds its choices as often as they occur."""

    rated: tuple[Room, ...]
    rooms: tuple[Room, ...]
    cubes: tuple[int, ...]
    lengths: tuple[int, ...]
    match_id: Callable[[Random], str]


class Played(NamedTuple):
    """One finished match: its event, and what the event does not tell."""

    ruleset: str
    event: Event
    finished_at_ms: int
    reason: str | None
    winner: Person
    loser: Person


_CUBES = weighted((450, 1), (350, 2), (140, 4), (40, 8), (15, 16), (4, 32), (1, 64))
_LENGTHS = weighted((30, 1), (25, 3), (22, 5), (13, 7), (4, 9), (3, 11), (1, 13), (1, 25), (1, 2))
_END_REASONS = weighted((85, "completed"), (8, "resigned"), (3, "left"), (2, "disconnected"), (2, "timed_out"))
_WIN_TYPES = weighted((75, "single"), (23, "gammon"), (2, "backgammon"))
_EXPLICIT_VERSIONS = ("1.0.5", "1.2.0", "1.3.0", "1.3.1", "1.10.0")

_SAME_NETWORK = {"same_network": True}
_RANKED = Room("ranked")
_HOSTED = Room("hosted", fields={"elo_enabled": True})
_PUBLIC = Room("public")

PLATFORMS: Mapping[str, Platform] = {
    "gammon42": Platform(
        rated=(_RANKED,),
        rooms=weighted(
            (92, _RANKED),
            (3, Room("boosted", "boosted")),
            (1, Room("casual", "boosted")),
            (2, Room("tournament", "tournament")),
            (2, Room("ranked", "computer", opponent="bot")),
        ),
        cubes=_CUBES,
        lengths=(),
        match_id=lambda random: f"{random.getrandbits(64):016x}",
    ),
    "blitzgammon": Platform(
        rated=weighted((8, Room("rating")), (1, _HOSTED)),
        rooms=weighted(
            (78, Room("rating")),
            (10, _HOSTED),
            (4, Room("casual", "casual")),
            (2, Room("hosted", "elo-disabled")),
            (2, Room("hosted", "elo-disabled", fields={"elo_enabled": False})),
            (2, Room("ai", "computer", opponent="bot")),
            (2, Room("rating", "computer", opponent="bot")),
        ),
        cubes=(),
        lengths=_LENGTHS,
        match_id=lambda random: f"bg-{random.getrandbits(60)}",
    ),
    "nardeon": Platform(
        rated=(_PUBLIC,),
        rooms=weighted(
            (84, _PUBLIC),
            (3, Room("private", "private-room")),
            (3, Room("club", "club-table")),
            (2, Room("local", "one-screen")),
            (1, Room("computer", "computer", opponent="bot")),
            (1, Room("public", "computer", opponent="bot")),
            (3, Room("public", "guest", opponent="guest")),
            (3, Room("public", "same-address", fields=_SAME_NETWORK)),
        ),
        cubes=(),
        lengths=_LENGTHS,
        match_id=lambda random: f"table/{random.getrandbits(12)}@{random.getrandbits(48):012x}",
    ),
    "season0": Platform(
        rated=(_RANKED,),
        rooms=weighted(
            (90, _RANKED),
            (3, Room("bot", "bot", opponent="bot")),
            (2, Room("ranked", "bot", opponent="bot")),
            (5, Room("ranked", "same-network", fields=_SAME_NETWORK)),
        ),
        cubes=(),
        lengths=(),
        match_id=lambda random: f"s0_{random.getrandbits(60):015x}",
    ),
}


class Ladder(NamedTuple):
    """One pool of a run: its name, its ruleset and who plays there. `identities` is None where nobody signs up."""

    pool: str
    ruleset: str
    population: Population
    plain: bool
    identities: Identities | None = None

    def pair(self, random: Random, at_ms: int) -> tuple[Person, Person]:
        """Return two people under the ids that they played under at that instant (UTC milliseconds)."""
        if self.identities is None:
            return self.population.pair(random)
        return self.identities.pair(random, self.population, at_ms)


def play(random: Random, ladder: Ladder, finished_at_ms: int, *, rated: bool = False) -> Played:
    """Return a match that ended at that instant (UTC milliseconds); `rated` leaves only rooms that count."""
    platform = PLATFORMS[ladder.ruleset]
    room = pick(random, platform.rated if rated or ladder.plain else platform.rooms)
    first, second = ladder.pair(random, finished_at_ms)
    if room.opponent == "bot":
        second = pick(random, ladder.population.bots)
    elif room.opponent == "guest":
        second = guest(random)
    return _played(random, ladder, room, (first, second), finished_at_ms)


def against_oneself(random: Random, ladder: Ladder, identity: Identity, finished_at_ms: int) -> Event:
    """Return a match that one human plays under both ids, for the platform's server cannot tell."""
    room = pick(random, PLATFORMS[ladder.ruleset].rated)
    return _played(random, ladder, room, identity, finished_at_ms).event


def _played(random: Random, ladder: Ladder, room: Room, persons: tuple[Person, Person], finished_at_ms: int) -> Played:
    platform = PLATFORMS[ladder.ruleset]
    first, second = persons
    chance = 1 / (1 + 10 ** ((second.strength - first.strength) / 800))
    winner, loser = (first, second) if random.random() < chance else (second, first)
    event: Event = {
        "match_id": platform.match_id(random),
        "pool": ladder.pool,
        "winner": _side(random, winner),
        "loser": _side(random, loser),
        "finished_at": format_instant(finished_at_ms),
        "mode": room.mode,
        **room.fields,
    }
    _stake(random, ladder, room, event)
    _ending(random, event)
    if ladder.ruleset == "blitzgammon" and not ladder.plain and random.random() < 0.15:
        _inline_prs(random, winner, loser, event)
    return Played(ladder.ruleset, event, finished_at_ms, room.reason, winner, loser)


def performance(random: Random, person: Person) -> float:
    """Return the PR of one match played by that person: >= 0, lower is better."""
    return round(max(0.0, random.gauss(person.pr, 2.5)), 3)


def _side(random: Random, person: Person) -> Event:
    if person.kind == "account" and random.random() < 0.7:
        return {"player_id": person.id}
    return {"player_id": person.id, "kind": person.kind}


def _stake(random: Random, ladder: Ladder, room: Room, event: Event) -> None:
    platform = PLATFORMS[ladder.ruleset]
    if room.reason is not None and random.random() < 0.5:
        return
    if platform.cubes:
        event["cube"] = pick(random, platform.cubes)
        if not ladder.plain and random.random() < 0.01:
            event["formula_version"] = pick(random, _EXPLICIT_VERSIONS)
    elif platform.lengths:
        event["length"] = pick(random, platform.lengths)


def _ending(random: Random, event: Event) -> None:
    end_reason = pick(random, _END_REASONS)
    if end_reason != "completed" or random.random() < 0.5:
        event["end_reason"] = end_reason
    if random.random() < 0.6:
        event["win_type"] = pick(random, _WIN_TYPES)


def _inline_prs(random: Random, winner: Person, loser: Person, event: Event) -> None:
    sides = ((winner, event["winner"]), (loser, event["loser"]))
    complete = random.random() < 0.8
    for person, side in sides:
        assert isinstance(side, dict)  # noqa: S101 - made above
        if complete or random.random() < 0.4:
            side["pr"] = performance(random, person)
        elif random.random() < 0.5:
            side["pr"] = None
