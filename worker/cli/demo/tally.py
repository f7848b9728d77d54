"""What was published and what came of it, counted. Pure: no I/O."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from worker.cli.simulation import Kind, Published

NO_POOL = "-"
"""Where letters are counted that name no pool."""

PoolCount = Counter[str]


@dataclass(slots=True)
class Stated:
    """What a correct worker makes of what the simulation published, as the simulation says.

    `matches`, `rated` and `duplicates` are by pool, `excluded` by (pool, reason), `letters` by reason.
    """

    records: int = 0
    matches: PoolCount = field(default_factory=Counter)
    rated: PoolCount = field(default_factory=Counter)
    duplicates: PoolCount = field(default_factory=Counter)
    excluded: Counter[tuple[str, str]] = field(default_factory=Counter)
    letters: Counter[str] = field(default_factory=Counter)

    def add(self, record: Published) -> None:
        """Count one record."""
        self.records += 1
        if record.kind in (Kind.CONFLICT, Kind.INVALID):
            self.letters[record.reason or ""] += 1
        elif record.topic == "match-finished":
            pool = pool_named(record.value, NO_POOL)
            self.matches[pool] += 1
            if record.kind is Kind.EXCLUDED:
                self.excluded[pool, record.reason or ""] += 1
            else:
                (self.duplicates if record.kind is Kind.DUPLICATE else self.rated)[pool] += 1


class Letter(NamedTuple):
    """A dead letter: its reason, the pool it names (NO_POOL if none of ours), and the coordinates of the original."""

    reason: str
    pool: str
    original: tuple[str, str, str]


class Halved(NamedTuple):
    """A match whose change stands halved; `late` if an analysis halved it after it had been rated in full."""

    pool: str
    match_id: str
    late: bool
    moved: bool


@dataclass(slots=True)
class Answers:
    """What came out, repeats left out; `duplicates` (by pool) are those that the worker itself counted."""

    changes: list[Mapping[str, Any]]
    rated: PoolCount
    excluded: Counter[tuple[str, str]]
    letters: Counter[str]
    pool_letters: PoolCount
    duplicates: Mapping[str, int]
    halved: list[Halved]


def count_answers(
    changes: list[Mapping[str, Any]],
    exclusions: Iterable[Mapping[str, Any]],
    letters: Iterable[Letter],
    duplicates: Mapping[str, int],
) -> Answers:
    """Count the values of rating-changed and match-excluded, and the letters of all dead-letter topics."""
    excluded = {event["event_id"]: (event["pool"], event["reason"]) for event in exclusions}
    different = set(letters)
    matches = {
        (event["pool"], event["cause"]["match_id"]) for event in changes if event["cause"]["type"] == "match-finished"
    }
    return Answers(
        changes,
        Counter(pool for pool, _ in matches),
        Counter(excluded.values()),
        Counter(letter.reason for letter in different),
        Counter(letter.pool for letter in different),
        duplicates,
        _halved(changes),
    )


def differences(stated: Stated, answers: Answers) -> list[str]:
    """Return a sentence for everything that must agree and does not."""
    compared: tuple[tuple[str, Mapping[Any, int], Mapping[Any, int]], ...] = (
        ("rated in", stated.rated, answers.rated),
        ("duplicates in", stated.duplicates, answers.duplicates),
        ("excluded in", stated.excluded, answers.excluded),
        ("dead letters with the reason", stated.letters, answers.letters),
    )
    return [
        f"{what} {_named(key)}: {found.get(key, 0):,} came out, but the simulation states {wanted.get(key, 0):,}."
        for what, wanted, found in compared
        for key in sorted({*wanted, *found})
        if wanted.get(key, 0) != found.get(key, 0)
    ]


def _named(key: str | tuple[str, str]) -> str:
    return key if isinstance(key, str) else " as ".join(key)


def pool_named(value: bytes | None, otherwise: str) -> str:
    """Return the pool that a record's value names, `otherwise` where it cannot be told."""
    try:
        event = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return otherwise
    pool = event.get("pool") if isinstance(event, dict) else None
    return pool if isinstance(pool, str) else otherwise


def _halved(changes: Iterable[Mapping[str, Any]]) -> list[Halved]:
    """Return the matches that stand halved, in the order in which they were settled."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for event in sorted(changes, key=lambda event: int(event["position"])):
        if "halved" in event["details"]:
            newest[event["pool"], event["cause"]["match_id"]] = event
    return [
        Halved(pool, match_id, event["cause"]["type"] == "match-analyzed", event["change"] != 0)
        for (pool, match_id), event in newest.items()
        if event["details"]["halved"]
    ]
