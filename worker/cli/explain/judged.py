"""An event and what a worker would make of it, and words that every kind of event needs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from worker.cli.words import shown_id
from worker.ratings.events import Event
from worker.ratings.instants import format_instant
from worker.ratings.match import content, first_difference
from worker.ratings.outcome import Outcome
from worker.ratings.rows import Link, MatchRecord, Parked, Prize
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool
from worker.stream.schema import echo

NOTHING = "Nothing changes, and nothing is owed a second answer."


class Known(NamedTuple):
    """What a pool knows of what an event names, before it; `links` by both their ids."""

    record: MatchRecord | None
    parked: Parked | None
    prize: Prize | None
    links: Mapping[str, Link]


class Judged(NamedTuple):
    """An event of a topic (its real name), what was known before it, and what a worker would make of it.

    `event` is None where it cannot be decoded; then `outcome` has the refusal.
    """

    pool: Pool
    topic: str
    event: Event | None
    outcome: Outcome
    known: Known


class Difference(NamedTuple):
    """The first field by which two contents differ, as a JSON pointer, and both values as JSON has them."""

    field: str
    sent: Any
    known: Any

    def __str__(self) -> str:
        """Both values, said after "the first field that differs is"."""
        return f"{self.field}: {_value(self.sent)} here, {_value(self.known)} in what is known"


def differing(match: MatchFinished, known: MatchFinished) -> Difference | None:
    """Return the first difference that makes a match a conflict with the known one of its match_id, None if none."""
    name = first_difference(content(match), known)
    if name is None:
        return None
    if name == "finished_at":
        return Difference("/finished_at", format_instant(match.finished_at_ms), format_instant(known.finished_at_ms))
    sent, other = getattr(match, name), getattr(known, name)
    if isinstance(sent, Player):
        if sent.id != other.id:
            return Difference(f"/{name}/player_id", sent.id, other.id)
        return Difference(f"/{name}/kind", sent.kind, other.kind)
    return Difference(f"/{name}", sent, other)


def answered(known: MatchRecord | Prize | Link) -> str:
    """Return the answer that was given once, as the beginning of a sentence."""
    if isinstance(known, Prize):
        return f"What came as {known.source} and was paid at position {known.position}"
    if isinstance(known, Link):
        return f"What came as {known.source} and was linked at position {known.position}"
    if known.rated is None:
        return f"What came as {known.source} and was excluded ({known.excluded_reason})"
    return f"What came as {known.source} and was rated at position {known.position}"


def both(first: str, second: str) -> str:
    """Return two ids."""
    return f"{shown_id(first)} and {shown_id(second)}"


def _value(value: Any) -> str:
    return "nothing" if value is None else echo(value)
