"""A ladder at which matches are explained, for the tests of what players are told."""

from collections.abc import Mapping
from typing import Any

from tests.ratings.ladder import AT, DAY, Ladder
from worker.cli.explain.match import as_text, explain
from worker.ratings.rows import MatchRecord, Row
from worker.rules.pools import Pool

SOON = AT + DAY
AFTER_IT_SETTLED = AT + 31 * DAY
PR_WAIT = "2026-12-01 12:00:00 UTC"


class Table(Ladder):
    """A ladder whose players begin where a test says, and whose first match is explained."""

    def seat(self, rating: float, player_id: str, *, experience: int = 0, rated_games: int = 0, games: int = 0) -> None:
        self.state.rows[player_id] = Row(1, rating, rated_games, experience, None, "match-finished/0/0")
        self.state.games = Games({**getattr(self.state.games, "counts", {}), player_id: games})

    @property
    def record(self) -> MatchRecord:
        return self.state.records["m-1"]

    def text(self, now_ms: int = SOON, pool: Pool | None = None) -> str:
        return as_text(explain(pool or self.pool, self.record, now_ms))

    def sentences(self, now_ms: int = SOON) -> list[str]:
        return self.text(now_ms).splitlines()


class Games(dict[Any, int]):
    """How many games a player had in the window before the match, by id."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts

    def __missing__(self, query: tuple[str, int, str]) -> int:
        return self.counts.get(query[0], 0)


def gammon42(winner: float = 1500, loser: float = 1620, games: tuple[int, int] = (57, 12), **changed: Any) -> Table:
    table = Table("gammon42")
    table.seat(winner, "ann", games=games[0])
    table.seat(loser, "bob", games=games[1])
    table.match(**{"cube": 2, **changed})
    return table


def blitzgammon(winner: float = 1500, loser: float = 1500, **changed: Any) -> Table:
    table = Table("blitzgammon")
    table.seat(winner, "ann")
    table.seat(loser, "bob")
    table.match(**changed)
    return table
