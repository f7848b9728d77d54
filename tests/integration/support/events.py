"""Single events by hand, where a test needs one match or analysis rather than a season."""

from typing import Any

import orjson

from worker.cli.simulation import Kind, Published
from worker.ratings.instants import format_instant


def match(
    match_id: str,
    winner: str,
    loser: str,
    *,
    finished_at_ms: int,
    timestamp_ms: int | None = None,
    pool: str = "blitzgammon",
    kind: Kind = Kind.MATCH,
    **more: Any,
) -> Published:
    """Return a rated match of five points, published as it ended."""
    terms = {"blitzgammon": {"mode": "rating", "length": 5}, "gammon42": {"mode": "ranked", "cube": 1}}[pool]
    event = {
        "match_id": match_id,
        "pool": pool,
        "winner": {"player_id": winner},
        "loser": {"player_id": loser},
        "finished_at": format_instant(finished_at_ms),
        **terms,
        **more,
    }
    at_ms = finished_at_ms if timestamp_ms is None else timestamp_ms
    return Published("match-finished", match_id.encode(), orjson.dumps(event), at_ms, (), kind)


def analysis(
    match_id: str,
    prs: dict[str, float | None],
    *,
    analyzed_at_ms: int,
    revision: int = 1,
    kind: Kind = Kind.ANALYSIS,
    reason: str | None = None,
) -> Published:
    """Return an analysis of a blitzgammon match, published as it was done."""
    event = {
        "match_id": match_id,
        "pool": "blitzgammon",
        "players": [{"player_id": player, "pr": pr} for player, pr in prs.items()],
        "revision": revision,
        "analyzed_at": format_instant(analyzed_at_ms),
    }
    return Published("match-analyzed", match_id.encode(), orjson.dumps(event), analyzed_at_ms, (), kind, reason)
