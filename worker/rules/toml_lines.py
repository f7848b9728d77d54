"""Where in a TOML text a thing stands: tomllib keeps no positions, so prefixes of the text are parsed instead."""

import tomllib
from collections.abc import Sequence
from typing import Any

Path = Sequence[str | int]
"""Keys and list indices from the top of the document down."""


def line_of(text: str, path: Path) -> int:
    """Return the number (1 = first) of the line on which the value at `path` begins; `text` is valid TOML."""
    lines = _lines(text)
    begin = 0
    for end in range(1, len(lines) + 1):
        parsed = _prefix(lines[:end])
        if parsed is not None:
            if _holds(parsed, path):
                return _first_written(lines, begin, end)
            begin = end
    return len(lines)


def line_of_error(text: str, error: ValueError) -> int:
    """Return the number of the line at which `tomllib` gave up with `error`."""
    _, found, position = str(error).rpartition("(at line ")
    number = position.partition(",")[0]
    return int(number) if found and number.isdigit() else max(1, len(_lines(text.rstrip())))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _first_written(lines: list[str], begin: int, end: int) -> int:
    blank = (
        number for number in range(begin, end) if lines[number].strip() and not lines[number].lstrip().startswith("#")
    )
    return next(blank, begin) + 1


def _prefix(lines: list[str]) -> dict[str, Any] | None:
    text = "\n".join(lines)
    for closer in ("", "\n]"):
        try:
            return tomllib.loads(text + closer)
        except ValueError:
            continue
    return None


def _holds(value: Any, path: Path) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
