"""What was decided about one input: what to write, what to publish, and what it was decided on."""

from enum import StrEnum

from msgspec import Struct

from worker.ratings.delivery import Delivery
from worker.ratings.refusal import Refusal
from worker.ratings.rows import Link, MatchRecord, Parked, Prize, Row, WindowEntry
from worker.rules.ruleset import Rating


class Kind(StrEnum):
    """Outcomes as they are counted."""

    RATED = "rated"
    EXCLUDED = "excluded"
    DUPLICATE = "duplicate"
    PARKED = "parked"
    PUSHED_OUT = "pushed-out"
    SETTLED = "settled"
    AWARDED = "awarded"
    LINKED = "linked"
    IGNORED = "ignored"
    REFUSED = "dead-letter"


class Change(Struct, frozen=True, gc=False):
    """One player's part of a `rating-changed` event, before it is written down as JSON.

    `linked_to` is the account whose claim retires this anonymous id, None in every other case.
    """

    player_id: str
    seq: int
    before: Rating
    after: Rating
    late: bool
    rated_games: int
    experience: int | None
    details: dict[str, object]
    linked_to: str | None = None


class Letter(Struct, frozen=True, gc=False):
    """An input that goes to its dead-letter topic whole."""

    delivery: Delivery
    refusal: Refusal


class Cause(Struct, frozen=True, gc=False):
    """What changed ratings: its type (the input topic), its id, and its own wire fields."""

    type: str
    id: str
    fields: dict[str, object]


class Changes(Struct, frozen=True, gc=False):
    """What one cause did to its players. While the first analysis is awaited it is not `final` but `settles_by_ms`."""

    cause: Cause
    sides: tuple[Change, ...]
    settles_by_ms: int | None = None


class RecordWrite(Struct, frozen=True, gc=False):
    """A match record to write. `replaces` is the one it was decided on, None where there must be none."""

    record: MatchRecord
    replaces: MatchRecord | None


class ParkedWrite(Struct, frozen=True, gc=False):
    """What is parked for a match after this cause (None: nothing), and what it was decided on."""

    parked: Parked | None
    replaces: Parked | None


class Outcome(Struct, frozen=True, gc=False):
    """One cause, decided.

    `players` and `match_id` ("" where it is about no match) are all it names, `instant_ms` is the cause's own instant,
    by which its age is judged too. `rows` pairs each new row with the one it was decided on; a prize and a link are
    guarded by the rows they write. What a cause must find unchanged is what it `replaces`; where `record_absent` is set
    there must be no record of `match_id`, and `unlinked` ("" for nobody) must be part of no link.
    """

    kind: Kind
    match_id: str
    players: tuple[str, ...]
    instant_ms: int
    rows: tuple[tuple[str, Row, Row | None], ...] = ()
    on_leaderboard: frozenset[str] = frozenset()
    record: RecordWrite | None = None
    parked: ParkedWrite | None = None
    record_absent: bool = False
    unlinked: str = ""
    windows: tuple[WindowEntry, ...] = ()
    changes: Changes | None = None
    excluded_reason: str | None = None
    letters: tuple[Letter, ...] = ()
    pushed_out: int = 0
    ignored: int = 0
    prize: Prize | None = None
    link: Link | None = None


def refuse(match_id: str, players: tuple[str, ...], instant_ms: int, delivery: Delivery, refusal: Refusal) -> Outcome:
    """Return the outcome of an input that goes to its dead-letter topic and changes nothing."""
    return Outcome(Kind.REFUSED, match_id, players, instant_ms, letters=(Letter(delivery, refusal),))
