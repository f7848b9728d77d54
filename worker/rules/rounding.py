"""Rounding and powers exactly as the rules say: no half-even, no binary error that decides a tie, no overflow."""

import math


def round_half_away(value: float) -> int:
    """Return the nearest integer of a finite double, ties away from zero, as Go's math.Round does."""
    whole = int(value)
    rest = value - whole
    if rest >= 0.5:
        return whole + 1
    if rest <= -0.5:
        return whole - 1
    return whole


def hundredths_half_up(value: float) -> int:
    """Return a finite double in hundredths, rounded half up on the exact value that the double holds."""
    numerator, denominator = value.as_integer_ratio()
    return (200 * numerator + denominator) // (2 * denominator)


def points_half_up(hundredths: int) -> int:
    """Return hundredths of a point as points, rounded half up: floor(x + 0.5), without leaving the integers."""
    return (hundredths + 50) // 100


def power_of_ten(exponent: float) -> float:
    """Return 10 ** exponent, infinity where that overflows a double."""
    try:
        return math.pow(10.0, exponent)
    except OverflowError:
        return math.inf
