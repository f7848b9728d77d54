"""The gammon42 rule once more, in decimals and without any of the worker's code, to check the season's tables by."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

WEEK_MS = 7 * 24 * 60 * 60 * 1000
DIVISORS = {(1, 0, 5): 400, (1, 2, 0): 800, (1, 3, 1): 1200}
COEFFICIENTS = {2**doublings: 1 + Fraction(doublings, 6) for doublings in range(7)}
DEFAULTS: dict[str, Any] = {
    "starting_rating": 1500,
    "k": 32,
    "heavy_k": 16,
    "heavy_games": 50,
    "versions": [
        {"version": "1.0.5", "from": "2025-01-01T00:00:00Z"},
        {"version": "1.2.0", "from": "2026-07-01T00:00:00Z"},
        {"version": "1.3.1", "from": "2026-10-01T00:00:00Z"},
    ],
}
_EXACT = Context(prec=50, rounding=ROUND_HALF_UP)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def expectation(own: int, other: int, divisor: int) -> Decimal:
    """Return a player's expected score, to 50 digits."""
    exponent = _EXACT.divide(Decimal(other - own), Decimal(divisor))
    return _EXACT.divide(Decimal(1), _EXACT.add(Decimal(1), _EXACT.power(Decimal(10), exponent)))


def points(k: int, winner: int, loser: int, divisor: int, cube: int) -> int:
    """Return by how much a player with this K is moved, up or down: halves are rounded away from zero."""
    by, parts = COEFFICIENTS[cube].as_integer_ratio()
    missing = _EXACT.subtract(Decimal(1), expectation(winner, loser, divisor))
    exact = _EXACT.divide(_EXACT.multiply(Decimal(k * by), missing), Decimal(parts))
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def version(pool: Mapping[str, Any], finished_at_ms: int, asked_for: str | None) -> str | None:
    """Return which of the pool's versions applies, None where nothing is published."""
    if asked_for is None:
        known = [entry["version"] for entry in pool["versions"] if _ms(entry["from"]) <= finished_at_ms]
    elif number(asked_for) < (1, 0, 5):
        known = []
    else:
        known = [entry["version"] for entry in pool["versions"] if number(entry["version"]) <= number(asked_for)]
    return known[-1] if known else None


def divisor(applies: str) -> int:
    return DIVISORS[max(published for published in DIVISORS if published <= number(applies))]


def k(pool: Mapping[str, Any], applies: str, games: int) -> int:
    """Return K: by volume from 1.3.1 on."""
    is_heavy = number(applies) >= (1, 3, 1) and games >= pool["heavy_games"]
    chosen: int = pool["heavy_k"] if is_heavy else pool["k"]
    return chosen


def games_before(played: Iterable[tuple[int, str]], finished_at_ms: int, match_id: str) -> int:
    """Count, one by one, the games (end, match_id) of the week before this one; of the same instant by match_id."""
    this = finished_at_ms, match_id.encode()
    return sum(at >= finished_at_ms - WEEK_MS and (at, other.encode()) < this for at, other in played)


def number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _ms(instant: str) -> int:
    return (datetime.fromisoformat(instant) - _EPOCH) // timedelta(milliseconds=1)
