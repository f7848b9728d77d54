"""A season of gammon42 across its cut-overs, as tables: what is sent, and what has to come of it.

There is one CSV file a pool, and in it one line a game, in the order of arrival. `sent` has further fields of the
event (and with `written` the record's timestamp, otherwise a second after the end), `answer` is `rated` or the reason
why not, and `vectors` names the rows of the vector files that the game plays. A version is the one that applies.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tests.integration.cut_overs import pencil
from worker.cli.simulation import Kind, Published
from worker.files import packaged
from worker.ratings.refusal import Reason

TABLES = Path(__file__).parent / "season"
SEASON_POOLS = (TABLES / "pools.toml").read_text(encoding="utf-8")
POOLS_FILE = packaged("deploy/pools.toml").read_text(encoding="utf-8") + SEASON_POOLS
"""The pools that are deployed, gammon42 among them, and the season's own."""
NAMES = ("gammon42", "marathon", "near-tie", "own-versions", "zero-change")
LAST_CUT_OVER = "2026-10-01T00:00:00.000Z"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


class Side(NamedTuple):
    """What a game has to do to one player."""

    player_id: str
    before: int
    change: int
    after: int
    k: int
    games: int
    late: bool


class Game(NamedTuple):
    """One line of a table. A game that is not rated has neither `winner` nor `loser`, `version` nor `divisor`."""

    pool: str
    match_id: str
    finished_at: str
    players: tuple[str, str]
    cube: int | None
    sent: Mapping[str, str]
    answer: str
    version: str
    divisor: int
    coefficient: Fraction
    winner: Side | None
    loser: Side | None
    vectors: Sequence[str]

    @property
    def finished_at_ms(self) -> int:
        return ms(self.finished_at)

    @property
    def written_ms(self) -> int:
        """The record's timestamp."""
        return ms(self.sent["written"]) if "written" in self.sent else self.finished_at_ms + 1000

    @property
    def sides(self) -> tuple[Side, Side]:
        """Winner and loser of a rated game."""
        assert self.winner is not None and self.loser is not None
        return self.winner, self.loser


def ms(instant: str) -> int:
    """Return an instant in UTC milliseconds since 1970."""
    return (datetime.fromisoformat(instant) - _EPOCH) // _MS


def games(pool: str) -> list[Game]:
    """Return the table of one pool."""
    with (TABLES / f"{pool}.csv").open(encoding="utf-8", newline="") as table:
        return [_game(pool, line) for line in csv.DictReader(table)]


def rated(table: Iterable[Game]) -> list[Game]:
    return [game for game in table if game.answer == "rated"]


def _game(pool: str, line: Mapping[str, str]) -> Game:
    is_rated = line["answer"] == "rated"
    return Game(
        pool,
        line["game"],
        line["finished_at"],
        (line["winner"], line["loser"]),
        int(line["cube"]) if line["cube"] else None,
        dict(field.split("=") for field in line["sent"].split()),
        line["answer"],
        line["version"],
        int(line["divisor"] or 0),
        Fraction(line["coefficient"] or 0),
        _side(line, "winner") if is_rated else None,
        _side(line, "loser") if is_rated else None,
        line["vectors"].split(),
    )


def _side(line: Mapping[str, str], side: str) -> Side:
    before, change, after, k, count = (
        int(line[f"{side}_{name}"]) for name in ("before", "change", "after", "k", "games")
    )
    return Side(line[side], before, change, after, k, count, side in line["late"].split())


def record(game: Game) -> Published:
    """Return the game as its platform publishes it, keyed by the pool, which gives it strict order."""
    sent = {name: value for name, value in game.sent.items() if name not in {"written", "loser_kind"}}
    event: dict[str, Any] = {
        "match_id": game.match_id,
        "pool": game.pool,
        "winner": {"player_id": game.players[0]},
        "loser": {"player_id": game.players[1], "kind": game.sent.get("loser_kind", "account")},
        "finished_at": game.finished_at,
        "mode": "ranked",
        **({} if game.cube is None else {"cube": game.cube}),
        **sent,
    }
    reason = None if game.answer == "rated" else game.answer
    kind = Kind.MATCH if reason is None else Kind.INVALID if reason in set(Reason) else Kind.EXCLUDED
    return Published("match-finished", game.pool.encode(), orjson.dumps(event), game.written_ms, (), kind, reason)


def events(table: Sequence[Game]) -> dict[str, dict[str, Any]]:
    """Return every `rating-changed` that a pool has to publish, by event_id.

    The doubles in `details` are as exact as doubles can be: compare `expected` and `coefficient` within 1e-12.
    """
    found: dict[str, dict[str, Any]] = {}
    seqs: Counter[str] = Counter()
    for position, game in enumerate(rated(table), 1):
        for side, other, result in zip(game.sides, reversed(game.sides), ("win", "loss"), strict=True):
            seqs[side.player_id] += 1
            event_id = f"{game.pool}/match-finished/{game.match_id}/{side.player_id}"
            found[event_id] = {
                "event_id": event_id,
                "pool": game.pool,
                "player_id": side.player_id,
                "seq": seqs[side.player_id],
                "position": position,
                "cause": {"type": "match-finished", "match_id": game.match_id},
                "before": side.before,
                "change": side.change,
                "after": side.after,
                "final": True,
                "late": side.late,
                "occurred_at": game.finished_at,
                "rated_games": seqs[side.player_id],
                "details": {
                    "result": result,
                    "opponent_id": other.player_id,
                    "opponent_rating": other.before,
                    "expected": float(pencil.expectation(side.before, other.before, game.divisor)),
                    "k": side.k,
                    "divisor": game.divisor,
                    "cube": game.cube,
                    "coefficient": float(game.coefficient),
                    "formula_version": game.version,
                    "games_in_window": side.games,
                },
            }
    return found
