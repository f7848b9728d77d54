"""A finished match as a platform reports it, in the field's own words."""

from msgspec import Struct


class Player(Struct, frozen=True, gc=False, array_like=True):
    """A side of a match. `kind` is account, anonymous, guest or bot; `pr` a performance rating >= 0, lower better."""

    id: str
    kind: str = "account"
    pr: float | None = None


class MatchFinished(Struct, frozen=True, gc=False, array_like=True):
    """One `match-finished` event with every default filled in.

    `finished_at_ms` is UTC milliseconds since 1970, `length` points (1..99), `cube` a power of two (1..64).
    What a pool's ruleset does not need may be None.
    """

    pool: str
    match_id: str
    winner: Player
    loser: Player
    finished_at_ms: int
    mode: str
    cube: int | None = None
    length: int | None = None
    elo_enabled: bool = False
    same_network: bool = False
    end_reason: str = "completed"
    win_type: str | None = None
    formula_version: str | None = None


def points(match: MatchFinished) -> int:
    """Return the length in points of a match whose ruleset needs one. Raises ValueError if it has none."""
    if match.length is None:
        raise ValueError(f"match {match.match_id!r} of pool {match.pool!r} has no length, and its ruleset rates by it")
    return match.length
