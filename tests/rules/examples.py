"""Matches and rows of the vector files, for the tests of the rules."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from worker.rules.match import MatchFinished, Player

Row = dict[str, Any]

IN_1_3_1 = 1_793_534_400_000
"""2026-11-01T12:00:00Z, in ms: the default pool's gammon42 rates by 1.3.1 then."""

_MODES = {"gammon42": "ranked", "blitzgammon": "rating", "nardeon": "public", "season0": "ranked"}


def rows(name: str) -> list[Row]:
    """Return the rows of vectors/<name>.json."""
    loaded: list[Row] = json.loads((Path(__file__).parent / "vectors" / f"{name}.json").read_text("utf-8"))["vectors"]
    return loaded


def match(system: str, **changed: Any) -> MatchFinished:
    """Return a match that `system` rates: gammon42 with a cube of 1, else to 1 point; `changed` overrides fields."""
    usual = MatchFinished(
        pool=system,
        match_id="m-1",
        winner=Player("ann"),
        loser=Player("bob"),
        finished_at_ms=IN_1_3_1,
        mode=_MODES[system],
        cube=1,
        length=1,
    )
    return replace(usual, **changed)


def kinds(winner: str, loser: str = "account") -> dict[str, Player]:
    """Return the two players of a match by kind."""
    return {"winner": Player("ann", winner), "loser": Player("bob", loser)}
