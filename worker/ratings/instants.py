"""Instants of the wire contract as UTC milliseconds since 1970, in integers only, so that no year overflows."""

import re
from datetime import date
from functools import lru_cache
from typing import Final

DAY_MS: Final = 86_400_000

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_CYCLE_DAYS: Final = 146_097
"""Days of 400 years, after which the calendar repeats."""

_MINUTE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9])")
_ANY_TAIL: Final = re.compile(r"(?:\.([0-9]+))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))")
_SECONDS: Final = {f":{second:02d}": second * 1000 for second in range(60)}
_TAILS: Final = {f".{ms:03d}Z": ms for ms in range(1000)} | {"Z": 0}


def parse_instant(text: str) -> int:
    """Return an instant of the wire contract (EVENTS: `YYYY-MM-DDTHH:MM:SS[.d...](Z|+HH:MM|-HH:MM)`) in UTC ms.

    What is finer than a millisecond is cut off. Raise ValueError for any text that is not such an instant.
    """
    try:
        return _minute_ms(text[:16]) + _SECONDS[text[16:19]] + _TAILS[text[19:]]
    except KeyError:
        return _minute_ms(text[:16]) + _rest_ms(text)


def format_instant(instant_ms: int) -> str:
    """Return UTC ms as `YYYY-MM-DDTHH:MM:SS.mmmZ`; outside the years 0 to 9999 the year takes the digits it needs."""
    minute, ms = divmod(instant_ms, 60_000)
    second, ms = divmod(ms, 1000)
    return f"{_minute_text(minute)}:{second:02d}.{ms:03d}Z"


@lru_cache(maxsize=16_384)
def _minute_ms(text: str) -> int:
    match = _MINUTE.fullmatch(text)
    if match is None:
        raise ValueError("an instant must look like 2026-07-01T12:34:56.789Z")
    year, month, day, hour, minute = map(int, match.groups())
    return (date(year, month, day).toordinal() - _EPOCH_DAY) * DAY_MS + (hour * 60 + minute) * 60_000


def _rest_ms(text: str) -> int:
    tail = _ANY_TAIL.fullmatch(text, 19)
    second = _SECONDS.get(text[16:19])
    if tail is None or second is None:
        raise ValueError("an instant must end in :SS, an optional fraction, and Z or an offset such as +02:00")
    fraction, sign, hours, minutes = tail.groups()
    ms = second + (int(fraction[:3].ljust(3, "0")) if fraction else 0)
    if sign is None:
        return ms
    offset = (int(hours) * 60 + int(minutes)) * 60_000
    return ms - offset if sign == "+" else ms + offset


@lru_cache(maxsize=16_384)
def _minute_text(minute: int) -> str:
    day, minute = divmod(minute, 1440)
    hour, minute = divmod(minute, 60)
    cycles, day_of_cycle = divmod(day + _EPOCH_DAY - 1, _CYCLE_DAYS)
    found = date.fromordinal(day_of_cycle + 1)
    return f"{found.year + 400 * cycles:04d}-{found.month:02d}-{found.day:02d}T{hour:02d}:{minute:02d}"
