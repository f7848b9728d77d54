"""What the tables hold of players, compared with what a replay says they must. Pure: pieces in, differences out."""

import math
from collections.abc import Iterator
from typing import Final

from worker.cli.audit.compare_facts import readable
from worker.cli.audit.difference import NOWHERE, Difference, shown
from worker.cli.audit.replay import Replay
from worker.cli.words import shown_id
from worker.ratings.rows import Row
from worker.tables.packing import unpack_row
from worker.tables.pieces import HeldPlayer, Players

_ROW: Final = ("seq", "rating", "rated_games", "experience", "newest_finished_at_ms", "retired")
"""What of a row does not depend on which of several inputs the worker saw first."""
_SUM_TOLERANCE: Final = 1e-6
"""Points by which a sum of unrounded changes may miss for each million of them: adding floats is not associative."""


def compare_players(piece: Players, replay: Replay) -> Iterator[Difference]:
    """Compare rows, windows and scores; the replay must stand at the piece's position."""
    for player_id, held in piece.held.items():
        wrong = _player(player_id, held, piece.horizon_ms, replay)
        if wrong is not None:
            yield Difference(replay.last_position.get(player_id, NOWHERE), f"{shown_id(player_id)}: {wrong}")


def _player(player_id: str, held: HeldPlayer, horizon_ms: int, replay: Replay) -> str | None:
    expected = replay.rows.get(player_id)
    if held.row is None and expected is None:
        return None if held.score is None else "the leaderboard shows a player who has no row."
    if held.row is None:
        return f"there must be a row with seq {expected.seq if expected else 0}, but there is none."
    row = readable(unpack_row, held.row)
    if row is None:
        return f"the row cannot be read: {shown(held.row.decode(errors='backslashreplace'))}."
    if expected is None:
        return f"there must be no row, for no change was published, but there is one with rating {row.rating}."
    return (
        _row(expected, row)
        or _source(player_id, expected, row, replay)
        or _window(player_id, held, horizon_ms, replay)
        or _score(expected, held.score, replay)
        or _sum(player_id, row, replay)
    )


def _row(expected: Row, found: Row) -> str | None:
    for name in _ROW:
        wanted, there = getattr(expected, name), getattr(found, name)
        if wanted != there or type(wanted) is not type(there):
            return f"{name} must be {shown(wanted)}, but the row says {shown(there)}."
    return None


def _source(player_id: str, expected: Row, found: Row, replay: Replay) -> str | None:
    if replay.choices.alike(replay.last_position[player_id], expected.last_source, found.last_source):
        return None
    return f"the last change must come from {expected.last_source}, but the row says {shown_id(found.last_source)}."


def _window(player_id: str, held: HeldPlayer, horizon_ms: int, replay: Replay) -> str | None:
    window_ms = replay.pool.rules.window_ms
    expected = {match_id: at for at, match_id in replay.windows.games(player_id)} if window_ms is not None else {}
    for match_id, score in held.games:
        at = expected.pop(match_id, None)
        if at is None:
            return f"the window must not have {shown_id(match_id)}, but does."
        if at != score:
            return f"the window must have {shown_id(match_id)} at {at}, but has it at {score:.0f}."
    kept_from = horizon_ms - (window_ms or 0)
    missing = next((match_id for match_id, at in expected.items() if at >= kept_from), None)
    return None if missing is None else f"the window must have {shown_id(missing)}, but does not."


def _score(expected: Row, score: float | None, replay: Replay) -> str | None:
    is_shown = not expected.retired and replay.pool.rules.on_leaderboard(expected.rated_games, expected.experience)
    if is_shown and score is None:
        return "the leaderboard must have the player, but does not."
    if not is_shown and score is not None:
        return "the leaderboard must not have the player, but does."
    if score is not None and score != -expected.rating:
        return f"the leaderboard must have {expected.rating}, but has {-score}."
    return None


def _sum(player_id: str, row: Row, replay: Replay) -> str | None:
    total = replay.pool.rules.starting_rating + replay.contributed.get(player_id, 0)
    tolerance = 0 if isinstance(row.rating, int) else _SUM_TOLERANCE * max(1, row.seq / 1e6)
    if math.isclose(total, row.rating, rel_tol=0, abs_tol=tolerance):
        return None
    return f"the start and all contributions are {total}, but the rating is {row.rating}."


def sum_of_ratings(piece: Players) -> float:
    """Return the sum of all ratings in a piece that can be read."""
    rows = [readable(unpack_row, held.row) for held in piece.held.values() if held.row is not None]
    return math.fsum(row.rating for row in rows if row is not None)


def compare_total(ratings: float, replay: Replay) -> Difference | None:
    """Compare the sum of all ratings that the tables hold with all starts and contributions."""
    expected = math.fsum(replay.contributed.values()) + len(replay.rows) * replay.pool.rules.starting_rating
    if math.isclose(ratings, expected, rel_tol=1e-12, abs_tol=_SUM_TOLERANCE * max(1, replay.changes / 1e6)):
        return None
    return Difference(NOWHERE, f"All ratings must add up to {expected}, but are {ratings}.")
