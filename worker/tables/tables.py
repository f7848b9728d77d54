"""What every kind of tables can do, and the values that go in and out. One object serves one pool."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from worker.ratings.delivery import Source
from worker.ratings.outcome import Outcome
from worker.ratings.rows import MatchRecord, Parked, Row
from worker.ratings.state import WindowQuery
from worker.ratings.wire import Message

UNPOOLED = "-"
"""Where dead letters are kept that name no configured pool; no pool can have this name."""


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


class Stored(Struct, frozen=True, gc=False):
    """An outbox entry: what was committed for one source and has not been settled, ready to publish."""

    source: Source
    position: int
    messages: Sequence[Message]


class Loaded(NamedTuple):
    """The answer to Wanted, all of one instant.

    `outbox` has the entries of the wanted sources and of every cause these rest on, in order of position.
    `position` is the highest given so far, `applied` the next offset of each wanted partition that has a marker.
    """

    rows: dict[str, Row]
    records: dict[str, MatchRecord]
    parked: dict[str, Parked]
    games: Mapping[WindowQuery, int]
    outbox: Sequence[Stored]
    applied: Mapping[Partition, int]
    horizon_ms: int
    position: int


class Cause(Struct, frozen=True, gc=False):
    """An outcome to commit, with its source and what has to be published for it."""

    source: Source
    outcome: Outcome
    messages: Sequence[Message]


class Committed(NamedTuple):
    """For each cause its position (0 where it has none), or None where it is stale and was not written.

    `rests_on` are other workers' causes that have to be published before these, in order of position.
    """

    positions: Sequence[int | None]
    rests_on: Sequence[Stored]


class Marker(NamedTuple):
    """How far a partition is settled: `applied` is the next offset, `timestamp_ms` the newest record's timestamp.

    `believed` is what the worker knows it had reached before; it is not stored.
    """

    partition: Partition
    applied: int
    timestamp_ms: int = 0
    believed: int = 0


class Standings(NamedTuple):
    """A player's place on a leaderboard, from 1."""

    rank: int
    player_id: str
    row: Row


class PoolTables(Protocol):
    """The tables of one pool. `load`, `commit` and `settle` are atomic, and the last two write all or nothing."""

    async def load(self, wanted: Wanted) -> Loaded:
        """Return what a batch needs, read at one instant."""

    async def commit(self, causes: Sequence[Cause]) -> Committed:
        """Write each cause whole, in order, or return it as stale with every later one that names what it names."""

    async def commit_then_load(self, causes: Sequence[Cause], wanted: Wanted) -> tuple[Committed, Loaded]:
        """Commit, and then load what another batch needs, in one round trip; nothing else is atomic about it."""

    async def settle(self, sources: Sequence[Source], markers: Sequence[Marker]) -> None:
        """Take published entries out of the outbox and move the markers; raise LostWritesError where they are gone."""

    async def begin(self, markers: Sequence[Marker]) -> None:
        """Give partitions that have no marker yet their first one."""

    async def markers(self) -> Mapping[Partition, Marker]:
        """Return every partition's marker."""

    async def raise_horizon(self, horizon_ms: int) -> int:
        """Move the horizon forward to `horizon_ms` unless it is there already, and return where it stands."""

    async def prune(self, cursor: int, window_ms: int) -> "Pruned":
        """Remove a part of what is older than the horizon; begin and end with cursor 0."""

    async def leaderboard(self, first: int, last: int) -> Sequence[Standings]:
        """Return the places `first` to `last`, from 1, by rating, ties by player_id."""

    async def rank(self, player_id: str) -> int | None:
        """Return a player's place, from 1, or None for one who is not shown."""

    async def outbox_size(self) -> int:
        """Return how many causes are committed and not settled."""


class Pruned(NamedTuple):
    """What one step of pruning removed, and the cursor of the next (0: all has been seen)."""

    cursor: int
    matches: int
    parked: int
    window_entries: int
