"""Checks that every ruleset makes on its settings, whoever built it."""

from worker.rules.errors import SettingError

MOST = 1_000_000
"""No published constant comes near; keeps every product of settings finite."""

LEAST_POSITIVE = 1e-6


def whole(setting: str, value: object, *, least: int = -MOST, most: int = MOST, entry: int | None = None) -> int:
    """Return `value` if it is an integer in least..most (a bool is not one), else raise SettingError."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingError(setting, f"must be a whole number from {least} to {most}, not {value!r}", entry)
    return value


def number(setting: str, value: object, *, least: float = 0, most: float = MOST, entry: int | None = None) -> float:
    """Return `value` if it is a finite number in least..most (a bool is not one), else raise SettingError.

    4.0 comes back as 4, so that both spellings of a setting publish the same bytes.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise SettingError(setting, f"must be a number from {least} to {most}, not {value!r}", entry)
    return int(value) if value == int(value) else value


def positive(setting: str, value: object, *, entry: int | None = None) -> float:
    """Return `value` if it is a number above 0 within sensible bounds, else raise SettingError; 4.0 comes back as 4."""
    return number(setting, value, least=LEAST_POSITIVE, entry=entry)


def retention(days: object) -> None:
    """Raise SettingError unless `days` is a whole number of days from 1 to 36500."""
    whole("retention_days", days, least=1, most=36_500)


def store(ruleset: object, **values: object) -> None:
    """Set fields of a frozen ruleset; only for its own `__post_init__`."""
    for field, value in values.items():
        object.__setattr__(ruleset, field, value)
