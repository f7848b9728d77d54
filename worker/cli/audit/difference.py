"""What an audit finds wrong: one sentence, and the position by which the first one is told from later ones."""

import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from worker.cli.words import shown_id

NOWHERE: Final = sys.maxsize
"""Position of what has none; it comes after everything that has one."""

_ABSENT: Final = object()
_SHOWN_MAX: Final = 120


class Difference(NamedTuple):
    """What is wrong at a position (NOWHERE where it has none): what, where, expected and found."""

    position: int
    sentence: str


class First:
    """Keeps the difference with the lowest position, and of several at one position the one that came first."""

    def __init__(self) -> None:
        self.difference: Difference | None = None

    def add(self, found: Difference | None) -> None:
        """Take note of a difference, if there is one."""
        if found is not None and (self.difference is None or found.position < self.difference.position):
            self.difference = found


def first_field(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return (field, expected, found) of the first field in which two JSON objects differ, None if in none."""
    for name in (*expected, *(name for name in found if name not in expected)):
        wanted, there = expected.get(name, _ABSENT), found.get(name, _ABSENT)
        if isinstance(wanted, dict) and isinstance(there, dict):
            inner = first_field(wanted, there)
            if inner is not None:
                return f"{shown_id(name)}.{inner[0]}", *inner[1:]
        elif type(wanted) is not type(there) or wanted != there:
            return shown_id(name), shown(wanted), shown(there)
    return None


def shown(value: object) -> str:
    """Return a value as JSON on one line, cut where it is long."""
    if value is _ABSENT or value is None:
        return "nothing" if value is _ABSENT else "null"
    text = shown_id(orjson.dumps(value, default=str).decode())
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
