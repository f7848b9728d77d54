"""One pool without any tables, taking one event after another, for the tests of what happens to an event."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import orjson
from msgspec.structs import replace

from tests.rules.examples import IN_1_3_1
from worker.files import packaged
from worker.ratings.decide import decide
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import AnalyzedPlayer, Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.outcome import Outcome
from worker.ratings.state import State, WindowQuery
from worker.ratings.wire import Message, complete, messages
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool, parse_pools
from worker.rules.ruleset import Rating

AT = IN_1_3_1
"""When matches end in these tests unless they say otherwise, in ms."""
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
POOLS = parse_pools(packaged("deploy/pools.toml").read_text())

_MODES = {"gammon42": "ranked", "blitzgammon": "rating", "nardeon": "public", "season0": "ranked"}


class _NothingLoaded(Mapping[WindowQuery, int]):
    """Counts of a pool that begins empty: what is in a window came through the overlay."""

    def __getitem__(self, query: WindowQuery) -> int:
        return 0

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0


def pool_of(ruleset: str, **settings: object) -> Pool:
    """Return a pool as the pools file would set it; `settings` are written as TOML scalars."""
    lines = "\n".join(f"{key} = {value}" for key, value in settings.items())
    return parse_pools(f'[pools.{ruleset}]\nruleset = "{ruleset}"\n{lines}\n')[ruleset]


def finished(pool: str, match_id: str, winner: str, loser: str, **changed: Any) -> MatchFinished:
    """Return a match that the pool of a ruleset's own name rates; `prs` are (winner's, loser's)."""
    winner_pr, loser_pr = changed.pop("prs", (None, None))
    winner_kind, loser_kind = changed.pop("kinds", ("account", "account"))
    usual = MatchFinished(
        pool,
        match_id,
        Player(winner, winner_kind, winner_pr),
        Player(loser, loser_kind, loser_pr),
        changed.pop("at", AT),
        _MODES[pool],
        cube=1 if pool == "gammon42" else None,
        length=5 if pool in {"blitzgammon", "nardeon"} else None,
    )
    return replace(usual, **changed)


def analyzed(
    pool: str,
    match_id: str,
    prs: tuple[float | None, float | None],
    revision: int = 1,
    *,
    players: tuple[str, str] = ("ann", "bob"),
    at: int = AT + HOUR,
) -> MatchAnalyzed:
    """Return an analysis with the PRs of `players`, by default the match's winner and loser."""
    first, second = players
    return MatchAnalyzed(pool, match_id, (AnalyzedPlayer(first, prs[0]), AnalyzedPlayer(second, prs[1])), at, revision)


def awarded(
    tournament_id: str, player_id: str = "ann", amount: int = 25, place: int = 1, *, at: int = AT
) -> TournamentPrizeAwarded:
    """Return a prize of the gammon42 pool."""
    return TournamentPrizeAwarded("gammon42", tournament_id, player_id, place, amount, at)


def linked(anonymous_id: str, account_id: str, *, at: int = AT) -> IdentityLinked:
    """Return a link of the season0 pool."""
    return IdentityLinked("season0", anonymous_id, account_id, at)


_KINDS = {
    MatchFinished: ("match-finished", "finished_at_ms"),
    MatchAnalyzed: ("match-analyzed", "analyzed_at_ms"),
    TournamentPrizeAwarded: ("tournament-prize-awarded", "awarded_at_ms"),
    IdentityLinked: ("identity-linked", "linked_at_ms"),
}


def topic_of(event: Event) -> str:
    return _KINDS[type(event)][0]


def instant_of(event: Event) -> int:
    instant_ms: int = getattr(event, _KINDS[type(event)][1])
    return instant_ms


class Ladder:
    """Decides each event on what the ones before it left, and keeps what is published."""

    def __init__(self, ruleset: str = "blitzgammon", horizon_ms: int = 0, **settings: object) -> None:
        self.pool = pool_of(ruleset, **settings)
        self.state = State({}, {}, {}, _NothingLoaded(), horizon_ms)
        self.published: list[Message] = []
        self._offsets = count()
        self._position = 0

    def match(self, match_id: str = "m-1", winner: str = "ann", loser: str = "bob", **changed: Any) -> Outcome:
        """Send a match, rated unless `changed` says otherwise."""
        timestamp_ms = changed.pop("timestamp", None)
        return self.send(finished(self.pool.name, match_id, winner, loser, **changed), timestamp_ms)

    def analysis(
        self, winner_pr: float | None, loser_pr: float | None, revision: int = 1, match_id: str = "m-1", **changed: Any
    ) -> Outcome:
        """Send an analysis of a match that ann won against bob."""
        timestamp_ms = changed.pop("timestamp", None)
        return self.send(analyzed(self.pool.name, match_id, (winner_pr, loser_pr), revision, **changed), timestamp_ms)

    def send(self, event: Event, timestamp_ms: int | None = None) -> Outcome:
        source = Source(topic_of(event), 0, next(self._offsets))
        written = instant_of(event) + SECOND if timestamp_ms is None else timestamp_ms
        value = orjson.dumps({"id": getattr(event, "match_id", topic_of(event))})
        outcome = decide(self.pool.rules, event, Delivery(source, written, b"key", value), self.state)
        self._position += outcome.changes is not None
        self.published += [complete(message, self._position) for message in messages(self.pool.name, outcome, "")]
        return outcome

    def rating(self, player_id: str) -> Rating:
        return self.state.rows[player_id].rating

    def ratings(self) -> dict[str, Rating]:
        return {player_id: row.rating for player_id, row in self.state.rows.items()}

    def values(self, topic: str = "rating-changed") -> list[dict[str, Any]]:
        """Return what was published to a topic, decoded."""
        return [orjson.loads(message.value or b"null") for message in self.published if message.topic == topic]

    def reasons(self) -> list[str]:
        """Return the reasons of all dead letters."""
        return [dict(message.headers)["dlt-reason"].decode() for message in self.published if is_letter(message)]


def is_letter(message: Message) -> bool:
    return message.topic.endswith(".dlt")
