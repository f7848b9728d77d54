"""What every kind of tables can do, and the values that go in and out. One object serves one pool."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from worker.ratings.delivery import Source
from worker.ratings.outcome import Outcome
from worker.ratings.rows import Link, MatchRecord, Parked, Prize, Row
from worker.ratings.state import PrizeKey, WindowQuery
from worker.ratings.wire import Message

UNPOOLED = "-"
"""Where dead letters are kept that name no configured pool; no pool can have this name."""
PAGE_MAX = 1_000
"""Most places of a leaderboard that one page has."""
PLACE_MAX = 1_000_000_000
"""Last place at which a page may be asked to begin."""


class Partition(NamedTuple):
    """A partition of an input topic, by the topic's real name."""

    topic: str
    number: int


class Wanted(NamedTuple):
    """Everything a batch needs to be decided. `games` are counted in windows of `window_ms` milliseconds."""

    players: Sequence[str] = ()
    match_ids: Sequence[str] = ()
    sources: Sequence[Source] = ()
    partitions: Sequence[Partition] = ()
    games: Sequence[WindowQuery] = ()
    window_ms: int = 0
    prizes: Sequence[PrizeKey] = ()


class Stored(Struct, frozen=True, gc=False):
    """An outbox entry: what was committed for one source and has not been settled, ready to publish."""

    source: Source
    position: int
    messages: Sequence[Message]


class Loaded(NamedTuple):
    """The answer to Wanted, all of one instant.

    `outbox` has the entries of the wanted sources and of every cause these rest on, in order of position.
    `position` is the highest given so far, `applied` the next offset of each wanted partition that has a marker.
    `links` are those of the wanted players; `rows` has their accounts' rows too.
    """

    rows: dict[str, Row]
    records: dict[str, MatchRecord]
    parked: dict[str, Parked]
    games: Mapping[WindowQuery, int]
    outbox: Sequence[Stored]
    applied: Mapping[Partition, int]
    horizon_ms: int
    position: int
    prizes: dict[PrizeKey, Prize]
    links: dict[str, Link]


class Cause(Struct, frozen=True, gc=False):
    """An outcome to commit, with its source and what has to be published for it."""

    source: Source
    outcome: Outcome
    messages: Sequence[Message]


class Commit(NamedTuple):
    """Causes to commit, made ready to be sent; `call` is for the tables that prepared them."""

    causes: Sequence[Cause]
    call: Any = None


SETTLED: Final = -1
"""Stands for the position of a cause whose source was settled before, so that it was not written again."""


class Committed(NamedTuple):
    """For each cause its position (0 where it has none), SETTLED, or None where it is stale and was not written.

    `rests_on` are other workers' causes that have to be published before these, in order of position.
    """

    positions: Sequence[int | None]
    rests_on: Sequence[Stored]


class Marker(NamedTuple):
    """How far a partition is settled: `applied` is the next offset, `timestamp_ms` the newest record's timestamp.

    Not stored: `believed` is what the worker knows it had reached before, `begin` the offset from which on the worker
    has read everything; a marker may only move from there or from beyond.
    """

    partition: Partition
    applied: int
    timestamp_ms: int = 0
    believed: int = 0
    begin: int = 0


class Standings(NamedTuple):
    """A player's place on a leaderboard, from 1."""

    rank: int
    player_id: str
    row: Row


class Page(NamedTuple):
    """Successive places of a leaderboard, and how many `players` are on all of it."""

    players: int
    places: Sequence[Standings]


class Around(NamedTuple):
    """One player's `rank`, from 1, and the page around it; `row` is the player's own.

    One who is not shown has no rank and an empty page, and one who was never rated no row.
    """

    rank: int | None
    row: Row | None
    page: Page


def check_page(limit: int, first: int = 1) -> None:
    """Raise ValueError unless a page of `limit` places, beginning at place `first`, may be asked for."""
    if not 1 <= limit <= PAGE_MAX:
        raise ValueError(f"a page has 1 to {PAGE_MAX:,} places, not {limit:,}")
    if not 1 <= first <= PLACE_MAX:
        raise ValueError(f"a page begins at place 1 to {PLACE_MAX:,}, not {first:,}")


class PoolTables(Protocol):
    """The tables of one pool.

    `load`, `commit`, `settle`, `leaderboard` and `around` are atomic; the second and third write all or nothing.
    What may be pruned is as if it were: no answer depends on when pruning runs. That is what parked analyses are from
    before the horizon, and records from before it and as long again as these tables keep them behind it.
    """

    async def load(self, wanted: Wanted) -> Loaded:
        """Return what a batch needs, read at one instant."""

    def prepare(self, causes: Sequence[Cause]) -> Commit:
        """Make causes ready to be committed: work that need not wait until it is their turn."""

    async def commit(self, commit: Commit) -> Committed:
        """Write each cause whole, in order, or return it as stale with every later one that names what it names.

        A cause whose source is below its partition's marker is not written again, whoever answered it.
        """

    async def commit_then_load(self, commit: Commit, wanted: Wanted) -> tuple[Committed, Loaded]:
        """Commit, and then load what another batch needs, in one round trip; nothing else is atomic about it."""

    async def settle(self, sources: Sequence[Source], markers: Sequence[Marker]) -> None:
        """Take published entries out of the outbox and move the markers.

        Raises LostWritesError where they are gone, HoleError where a marker stands below the marker's `begin`: moving
        it would skip what lies between.
        """

    async def begin(self, markers: Sequence[Marker]) -> None:
        """Give partitions that have no marker yet their first one."""

    async def markers(self) -> Mapping[Partition, Marker]:
        """Return every partition's marker."""

    async def raise_horizon(self, horizon_ms: int) -> int:
        """Move the horizon forward to `horizon_ms` unless it is there already, and return where it stands."""

    async def prune(self, window_ms: int) -> "Pruned":
        """Remove a part of what is from before the horizon, and of the window entries from `window_ms` before that.

        Ask again while there is `more`. Takes as long as what it removes, however much there is.
        """

    async def leaderboard(self, first: int, limit: int) -> Page:
        """Return `limit` places from place `first` (from 1) on, or as many as there are, all of one instant.

        By rating, ties by the UTF-8 bytes of player_id. Of n players: O(log n + limit) in Redis. Raises ValueError for
        a `limit` outside 1 .. PAGE_MAX or a `first` outside 1 .. PLACE_MAX.
        """

    async def around(self, player_id: str, limit: int) -> Around:
        """Return a player's rank and row, and `limit` places with theirs in the middle, all of one instant.

        Half of an even `limit` is above the player; near an end of the leaderboard the page is moved, so that it is
        full wherever there are so many. Of n players: O(log n + limit) in Redis. Raises ValueError for a `limit`
        outside 1 .. PAGE_MAX.
        """

    async def unsettled(self) -> Sequence[Source]:
        """Return the sources of all causes that are committed and not settled, in no order."""

    async def outbox_size(self) -> int:
        """Return how many causes are committed and not settled."""


class Pruned(NamedTuple):
    """What one step of pruning removed, and whether there may be more to remove."""

    more: bool
    matches: int
    parked: int
    window_entries: int
