"""A link, another of the same id and matches of both ids at the same moment, through different writers.

Thousands of rounds, each with people of its own, and each must end as some order of its events makes it end: all orders
are tried out on the rules alone.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import orjson
import pytest

from tests.integration.test_writers import write
from tests.integration.writing.history import check_chains, first_occurrences
from tests.integration.writing.traffic import Log, decoded
from tests.integration.writing.writers import Broker
from tests.ratings.ladder import AT, HOUR, Ladder, finished, linked, topic_of
from worker.ratings.delivery import Source
from worker.ratings.events import Event
from worker.tables.connect import connect
from worker.tables.redis import RedisTables
from worker.tables.tables import Partition, Wanted

ROUNDS_AT_ONCE = 40
NAMES = ("anon", "ann", "other", "bob")


class Setting(NamedTuple):
    """What came before a round, and how its match between the two is."""

    anon_played: bool
    ann_played: bool
    excluded: bool
    late: bool


SETTINGS = [Setting(*(bool(bits >> bit & 1) for bit in range(4))) for bits in range(16)]


def before(setting: Setting, number: object) -> list[Event]:
    anon, ann, _, bob = (f"{name}:{number}" for name in NAMES)
    games = []
    if setting.anon_played:
        games.append(finished("season0", f"before-1:{number}", anon, bob))
    if setting.ann_played:
        games.append(finished("season0", f"before-2:{number}", bob, ann))
    return games


def contestants(setting: Setting, number: object) -> list[Event]:
    anon, ann, other, bob = (f"{name}:{number}" for name in NAMES)
    at = AT - HOUR if setting.late else AT + HOUR
    mode = "bot" if setting.excluded else "ranked"
    between = finished("season0", f"between:{number}", ann, anon, mode=mode)
    return [
        finished("season0", f"m:{number}", anon, bob, at=at),
        between,
        between,
        linked(anon, ann, at=AT + 1),
        linked(anon, other, at=AT + 2),
    ]


def label(event: Event) -> str:
    """Return what tells the event from the others of all rounds: a link's instant, and its round."""
    return str(getattr(event, "match_id", "")) or f"link-{event.linked_at_ms}:{event.anonymous_id.split(':')[1]}"


class Ending(NamedTuple):
    """What can be seen of a round from outside: changes in order, exclusions, and dead letters with their reasons."""

    changes: tuple[str, ...]
    excluded: int
    letters: tuple[tuple[str, str], ...]


def ending(changes: Sequence[dict[str, Any]], excluded: int, letters: Sequence[tuple[str, str]]) -> Ending:
    """Return a round's ending; positions count from the round's own first one."""
    causes = sorted({change["position"] for change in changes})
    shown = [
        (causes.index(change["position"]), change["player_id"].split(":")[0], _shown(change)) for change in changes
    ]
    return Ending(tuple(map(repr, sorted(shown))), excluded, tuple(sorted(letters)))


def _shown(change: dict[str, Any]) -> list[tuple[str, str]]:
    names = ("seq", "before", "change", "after", "late", "rated_games", "retired", "linked_to", "details")
    about = [("cause", change["cause"]["type"]), *((name, change.get(name)) for name in names)]
    return [(name, str(value).split(":")[0] if name == "linked_to" else _plain(value)) for name, value in about]


def _plain(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return str({name: str(one).split(":")[0] for name, one in value.items() if name != "expected"})


def legal_endings(setting: Setting) -> dict[Ending, tuple[str, ...]]:
    """Return how each order of the events ends, with one that does."""
    found: dict[Ending, tuple[str, ...]] = {}
    for order in permutations(contestants(setting, 0)):
        ladder = Ladder("season0")
        for event in before(setting, 0):
            ladder.send(event)
        told = len(ladder.values())
        letters = []
        for event in order:
            had = len(ladder.reasons())
            ladder.send(event)
            letters += [(label(event).split(":")[0], reason) for reason in ladder.reasons()[had:]]
        excluded = len(ladder.values("match-excluded"))
        found.setdefault(ending(ladder.values()[told:], excluded, letters), tuple(map(label, order)))
    return found


class Rounds:
    """All rounds of a test, played `ROUNDS_AT_ONCE` at a time."""

    def __init__(self, url: str, namespace: str, writers: int, settings: Sequence[Setting]) -> None:
        self._url = url
        self._namespace = namespace
        self._writers = writers
        self._log: Log = {}
        self.settings = settings
        self.conflicts = 0

    async def play(self, chance: random.Random) -> None:
        """Write what came before all rounds, and then play them."""
        for number, setting in enumerate(self.settings):
            for event in before(setting, number):
                self._add(event, number % self._writers)
        await self._write()
        for begin in range(0, len(self.settings), ROUNDS_AT_ONCE):
            for number, setting in enumerate(self.settings[begin : begin + ROUNDS_AT_ONCE], begin):
                events = contestants(setting, number)
                chance.shuffle(events)
                first = chance.randrange(self._writers)
                for place, event in enumerate(events, first):
                    self._add(event, place % self._writers)
            self.conflicts += sum(await self._write())

    def _add(self, event: Event, writer: int) -> None:
        partition = Partition(topic_of(event), writer)
        records = self._log.setdefault(partition, [])
        records.append(decoded(event, Source(*partition, len(records)), label(event)))

    async def _write(self) -> list[int]:
        seed = sum(map(len, self._log.values()))
        shares = [
            {name: records for name, records in self._log.items() if name.number == writer}
            for writer in range(self._writers)
        ]
        return await asyncio.gather(
            *(
                write(self._url, self._namespace, "season0", share, f"run-{writer}", seed + writer)
                for writer, share in enumerate(shares)
                if share
            )
        )

    async def endings(self) -> list[Ending]:
        """Return how each round ended, after following every chain and seeing that the tables end where it does."""
        client = connect(self._url)
        broker = Broker(client, f"{self._namespace}:broker")
        changes = first_occurrences(await broker.published("rating-changed"))
        newest = check_chains(changes, 1200)
        tables = RedisTables(client, self._namespace, "season0", "audit")
        loaded = await tables.load(Wanted(list(newest)))
        assert {name: (row.seq, row.rating, row.rated_games, row.retired) for name, row in loaded.rows.items()} == {
            name: (event["seq"], event["after"], event["rated_games"], "retired" in event)
            for name, event in newest.items()
        }
        by_round: list[list[dict[str, Any]]] = [[] for _ in self.settings]
        for change in changes:
            if not change["cause"].get("match_id", "").startswith("before"):
                by_round[_round_of(change["player_id"])].append(change)
        letters: list[list[tuple[str, str]]] = [[] for _ in self.settings]
        for value, reason in await broker.letters():
            name = orjson.loads(value)["id"]
            letters[_round_of(name)].append((name.split(":")[0], reason))
        told = await broker.published("match-excluded")
        excluded = Counter(_round_of(orjson.loads(value)["match_id"]) for _, value in told)
        await client.aclose()
        return [ending(by_round[at], excluded[at], letters[at]) for at in range(len(self.settings))]


def _round_of(name: str) -> int:
    return int(name.rsplit(":", 1)[1])


@pytest.mark.real_redis
@pytest.mark.parametrize(("writers", "rounds"), [(2, 1_000), (3, 1_200)])
def test_links_and_matches_of_the_same_ids_end_in_one_of_the_legal_orders(redis_server, namespace, writers, rounds):
    chance = random.Random(writers)
    legal = {setting: legal_endings(setting) for setting in SETTINGS}

    async def played() -> list[Ending]:
        await all_rounds.play(chance)
        return await all_rounds.endings()

    all_rounds = Rounds(redis_server.url, namespace, writers, [SETTINGS[number % 16] for number in range(rounds)])
    endings = asyncio.run(played())
    reached: set[tuple[Setting, Ending]] = set()
    for number, (setting, ended) in enumerate(zip(all_rounds.settings, endings, strict=True)):
        assert ended in legal[setting], f"round {number}, {setting}: no order of its events ends like this: {ended}"
        reached.add((setting, ended))
    possible = sum(map(len, legal.values()))
    assert all_rounds.conflicts > rounds / 4, "they hardly ever met: this test shows nothing"
    assert len(reached) > possible / 3, f"only {len(reached)} of {possible} endings were seen"
