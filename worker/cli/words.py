"""How numbers, names and instants are shown to people."""

from decimal import ROUND_HALF_UP, Decimal

from worker.ratings.instants import format_instant
from worker.rules.ruleset import Rating

_MOST_DECIMALS = 60


def shown_id(identifier: str) -> str:
    """Return an id with everything escaped that a terminal would act on or not show."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in identifier
    )


def shown_rating(rating: Rating) -> str:
    """Return a rating as players see it: whole where it is stored whole, else with two decimals."""
    return str(rating) if isinstance(rating, int) else f"{rating:.2f}"


def signed(change: Rating) -> str:
    """Return a change with its sign, a float with two decimals."""
    return f"{change:+d}" if isinstance(change, int) else f"{change:+.2f}"


def plus(change: Rating) -> str:
    """Return a change as it is added or taken away: `+ 10`, `- 21`."""
    return f"{'-' if change < 0 else '+'} {signed(change)[1:]}"


def factor(number: float) -> str:
    """Return a number as a formula quotes it: three decimals at most, and never 0 or 1 for what is not."""
    text = f"{number:.3f}"
    if float(text) in {0.0, 1.0} and number not in {0, 1}:
        text = f"{number:.3g}" if abs(number) < 0.5 else f"{number:.9f}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def before_rounding(value: float, places: int) -> str:
    """Return a number with two decimals more than it is rounded to, or as many as it takes to see which way it goes.

    Half goes away from zero, on the exact value: 1.505 is stored a little below, so it is shown as 1.50499999999999989.
    """
    unit = Decimal(1).scaleb(-places)
    rounded = _rounded(Decimal(value), unit)
    texts = (f"{value:.{decimals}f}" for decimals in range(places + 2, _MOST_DECIMALS))
    return next((text for text in texts if _rounded(Decimal(text), unit) == rounded), repr(value))


def _rounded(value: Decimal, unit: Decimal) -> Decimal:
    return value.quantize(unit, ROUND_HALF_UP)


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 game`, `2 games`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def moment(instant_ms: int) -> str:
    """Return an instant for people, to the second: `2026-10-08 12:00:00 UTC`."""
    return f"{format_instant(instant_ms)[:-5].replace('T', ' ')} UTC"
