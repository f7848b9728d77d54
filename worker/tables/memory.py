"""The tables of one pool in this process: the twin of the Lua scripts, for tests and for replaying a pool."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worker.ratings.delivery import Source
from worker.ratings.outcome import Outcome
from worker.ratings.rows import WindowEntry
from worker.ratings.state import WindowQuery
from worker.ratings.wire import complete
from worker.rules.ruleset import Rating
from worker.tables.errors import HoleError, LostWritesError
from worker.tables.packing import (
    ABSENT,
    names_of,
    pack_fact,
    pack_messages,
    pack_parked,
    pack_record,
    pack_row,
    parked_instant_ms,
    parked_version,
    prize_field,
    record_instant_ms,
    record_version,
    row_version,
    unpack_link,
    unpack_messages,
    unpack_parked,
    unpack_prize,
    unpack_record,
    unpack_row,
)
from worker.tables.tables import (
    SETTLED,
    Around,
    Cause,
    Commit,
    Committed,
    Loaded,
    Marker,
    Page,
    Partition,
    Pruned,
    Standings,
    Stored,
    Wanted,
    check_page,
)


@dataclass(frozen=True, slots=True)
class _Entry:
    position: int
    run: str
    rests_on: frozenset[str]
    messages: bytes


@dataclass(slots=True)
class MemoryStore:
    """What one pool holds. Several `MemoryTables` over one store are several workers on one Redis."""

    players: dict[str, bytes] = field(default_factory=dict)
    matches: dict[str, bytes] = field(default_factory=dict)
    parked: dict[str, bytes] = field(default_factory=dict)
    outbox: dict[str, _Entry] = field(default_factory=dict)
    prizes: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, bytes] = field(default_factory=dict)
    windows: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    ranked: list[str] | None = None
    """Who is shown, in order; None from a change on until somebody asks, which then takes O(n log n)."""
    applied: dict[Partition, int] = field(default_factory=dict)
    timestamps: dict[Partition, int] = field(default_factory=dict)
    horizon_ms: int = 0
    position: int = 0


class MemoryTables:
    """`PoolTables` without a Redis; `records_kept_ms` as there."""

    def __init__(self, store: MemoryStore, pool: str, run: str, records_kept_ms: int = 0) -> None:
        self.pool = pool
        self._records_kept_ms = records_kept_ms
        self._store = store
        self._run = run

    async def load(self, wanted: Wanted) -> Loaded:
        """See `PoolTables.load`."""
        store = self._store
        found = self._with_what_they_rest_on(str(source) for source in wanted.sources)
        links = {name: unpack_link(store.links[name]) for name in wanted.players if name in store.links}
        names = dict.fromkeys([*wanted.players, *(link.account_id for link in links.values())])
        return Loaded(
            {name: unpack_row(store.players[name]) for name in names if name in store.players},
            {name: unpack_record(packed) for name in wanted.match_ids if (packed := self._record(name)) is not None},
            {name: unpack_parked(packed) for name in wanted.match_ids if (packed := self._parked(name)) is not None},
            {query: self._games(query, wanted.window_ms) for query in wanted.games},
            [_stored(source, store.outbox[source]) for source in sorted(found, key=self._position_of)],
            {name: store.applied[name] for name in wanted.partitions if name in store.applied},
            store.horizon_ms,
            store.position,
            {
                key: unpack_prize(store.prizes[field])
                for key, field in ((key, prize_field(key)) for key in wanted.prizes)
                if field in store.prizes
            },
            links,
        )

    def _record(self, match_id: str) -> bytes | None:
        """Return a packed record, unless it may be pruned."""
        packed = self._store.matches.get(match_id)
        oldest_ms = self._store.horizon_ms - self._records_kept_ms
        return packed if packed is not None and record_instant_ms(packed) >= oldest_ms else None

    def _parked(self, match_id: str) -> bytes | None:
        """Return packed analyses, unless they may be pruned."""
        packed = self._store.parked.get(match_id)
        return packed if packed is not None and parked_instant_ms(packed) >= self._store.horizon_ms else None

    def _games(self, query: WindowQuery, window_ms: int) -> int:
        player_id, finished_at_ms, match_id = query
        games = self._store.windows.get(player_id, [])
        before = bisect_left(games, (finished_at_ms, match_id.encode()))
        return before - bisect_left(games, (finished_at_ms - window_ms, b""))

    def _position_of(self, source: str) -> int:
        return self._store.outbox[source].position

    def _with_what_they_rest_on(self, sources: Iterable[str], *, stop_at_run: str | None = None) -> set[str]:
        found: set[str] = set()
        waiting = list(sources)
        while waiting:
            source = waiting.pop()
            entry = self._store.outbox.get(source)
            if entry is not None and source not in found and entry.run != stop_at_run:
                found.add(source)
                waiting += entry.rests_on
        return found

    def prepare(self, causes: Sequence[Cause]) -> Commit:
        """See `PoolTables.prepare`."""
        return Commit(causes)

    async def commit(self, commit: Commit) -> Committed:
        """See `PoolTables.commit`."""
        positions: list[int | None] = []
        below: set[str] = set()
        stale: set[str] = set()
        for cause in commit.causes:
            names = set(names_of(cause.outcome))
            if self._is_settled(cause.source):
                stale |= names
                positions.append(SETTLED)
                continue
            if stale & names or not self._holds(cause.outcome):
                stale |= names
                positions.append(None)
                continue
            rests_on = frozenset(replaces.last_source for _, _, replaces in cause.outcome.rows if replaces is not None)
            positions.append(self._write(cause, rests_on))
            below |= self._with_what_they_rest_on(rests_on, stop_at_run=self._run)
        entries = [_stored(source, self._store.outbox[source]) for source in sorted(below, key=self._position_of)]
        return Committed(positions, entries)

    async def commit_then_load(self, commit: Commit, wanted: Wanted) -> tuple[Committed, Loaded]:
        """See `PoolTables.commit_then_load`."""
        return await self.commit(commit), await self.load(wanted)

    def _is_settled(self, source: Source) -> bool:
        return source.offset < self._store.applied.get(Partition(source.topic, source.partition), 0)

    def _holds(self, outcome: Outcome) -> bool:
        store = self._store
        writes = outcome.rows or outcome.record is not None or outcome.parked is not None
        if writes and outcome.instant_ms < store.horizon_ms:
            return False
        if any(_version(store.players.get(name)) != row_version(replaces) for name, _, replaces in outcome.rows):
            return False
        record, waiting = self._record(outcome.match_id), self._parked(outcome.match_id)
        if outcome.record is not None and _version(record) != record_version(outcome.record.replaces):
            return False
        if outcome.record_absent and record is not None:
            return False
        if outcome.unlinked in store.links:
            return False
        return outcome.parked is None or _version(waiting) == parked_version(outcome.parked.replaces)

    def _write(self, cause: Cause, rests_on: frozenset[str]) -> int:
        store, outcome = self._store, cause.outcome
        position = 0
        if outcome.changes is not None:
            store.position += 1
            position = store.position
        self._write_rows(outcome)
        if outcome.record is not None:
            record, replaces = outcome.record.record, outcome.record.replaces
            stands_at = position
            if replaces is not None:
                stands_at = unpack_record(store.matches[outcome.match_id]).position
            head = f"{record_version(record)} {stands_at} ".encode()
            store.matches[outcome.match_id] = head + pack_record(record)
        if outcome.parked is not None and outcome.parked.parked is not None:
            store.parked[outcome.match_id] = pack_parked(outcome.parked.parked)
        elif outcome.parked is not None and self._parked(outcome.match_id) is not None:
            del store.parked[outcome.match_id]
        self._write_facts(outcome, position)
        for entry in outcome.windows:
            self._add_to_window(entry)
        if cause.messages:
            store.outbox[str(cause.source)] = _Entry(position, self._run, rests_on, pack_messages(cause.messages))
        return position

    def _write_rows(self, outcome: Outcome) -> None:
        if outcome.rows:
            self._store.ranked = None
        for player_id, row, _ in outcome.rows:
            self._store.players[player_id] = pack_row(row).encode()
            if player_id in outcome.on_leaderboard:
                self._store.shown.add(player_id)
            if row.retired:
                self._store.shown.discard(player_id)

    def _write_facts(self, outcome: Outcome, position: int) -> None:
        if outcome.prize is not None:
            key = outcome.prize.tournament_id, outcome.prize.player_id
            self._store.prizes[prize_field(key)] = b"%d %b" % (position, pack_fact(outcome.prize))
        if outcome.link is not None:
            for player_id in (outcome.link.anonymous_id, outcome.link.account_id):
                self._store.links[player_id] = b"%d %b" % (position, pack_fact(outcome.link))

    def _add_to_window(self, entry: WindowEntry) -> None:
        insort(self._store.windows.setdefault(entry.player_id, []), (entry.finished_at_ms, entry.match_id.encode()))

    async def settle(self, sources: Sequence[Source], markers: Sequence[Marker]) -> None:
        """See `PoolTables.settle`."""
        store = self._store
        for marker in markers:
            applied = store.applied.get(marker.partition, 0)
            if applied < marker.believed:
                raise LostWritesError(f"pool {self.pool}, {marker.partition}: {applied} is below {marker.believed}")
            if applied < marker.begin:
                raise HoleError(f"pool {self.pool}, {marker.partition}: {applied} is below {marker.begin}")
        for source in sources:
            applied = store.applied.get(Partition(source.topic, source.partition), 0)
            if applied <= source.offset and str(source) not in store.outbox:
                raise LostWritesError(f"pool {self.pool}: what was committed for {source} is gone")
        for source in sources:
            store.outbox.pop(str(source), None)
        for marker in markers:
            name = marker.partition
            if marker.applied > store.applied.get(name, 0):
                store.applied[name] = marker.applied
            store.timestamps[name] = max(marker.timestamp_ms, store.timestamps.get(name, 0))

    async def begin(self, markers: Sequence[Marker]) -> None:
        """See `PoolTables.begin`."""
        for marker in markers:
            self._store.applied.setdefault(marker.partition, marker.applied)

    async def markers(self) -> Mapping[Partition, Marker]:
        """See `PoolTables.markers`."""
        timestamps = self._store.timestamps
        return {name: Marker(name, at, timestamps.get(name, 0)) for name, at in self._store.applied.items()}

    async def raise_horizon(self, horizon_ms: int) -> int:
        """See `PoolTables.raise_horizon`."""
        self._store.horizon_ms = max(self._store.horizon_ms, horizon_ms)
        return self._store.horizon_ms

    async def prune(self, window_ms: int) -> Pruned:
        """See `PoolTables.prune`; all of it is one step here, and walks everything."""
        store = self._store
        old_matches = [name for name in store.matches if self._record(name) is None]
        old_parked = [name for name in store.parked if self._parked(name) is None]
        for name in old_matches:
            del store.matches[name]
        for name in old_parked:
            del store.parked[name]
        entries = 0
        for games in store.windows.values():
            first_kept = bisect_left(games, (store.horizon_ms - window_ms, b""))
            del games[:first_kept]
            entries += first_kept
        return Pruned(False, len(old_matches), len(old_parked), entries)

    async def leaderboard(self, first: int, limit: int) -> Page:
        """See `PoolTables.leaderboard`."""
        check_page(limit, first)
        return self._page(first - 1, limit)

    async def around(self, player_id: str, limit: int) -> Around:
        """See `PoolTables.around`."""
        check_page(limit)
        packed = self._store.players.get(player_id)
        row = None if packed is None else unpack_row(packed)
        if player_id not in self._store.shown:
            return Around(None, row, Page(len(self._store.shown), []))
        ranked = self._ranked()
        place = bisect_left(ranked, self._order(player_id), key=self._order)
        return Around(place + 1, row, self._page(max(0, min(place - limit // 2, len(ranked) - limit)), limit))

    def _page(self, first: int, limit: int) -> Page:
        ranked = self._ranked()
        return Page(
            len(ranked),
            [
                Standings(rank, name, unpack_row(self._store.players[name]))
                for rank, name in enumerate(ranked[first : first + limit], first + 1)
            ],
        )

    def _ranked(self) -> list[str]:
        if self._store.ranked is None:
            self._store.ranked = sorted(self._store.shown, key=self._order)
        return self._store.ranked

    def _order(self, player_id: str) -> tuple[Rating, bytes]:
        return -unpack_row(self._store.players[player_id]).rating, player_id.encode()

    async def unsettled(self) -> list[Source]:
        """See `PoolTables.unsettled`."""
        return [_source(text) for text in self._store.outbox]

    async def outbox_size(self) -> int:
        """See `PoolTables.outbox_size`."""
        return len(self._store.outbox)


def _version(value: bytes | None) -> str:
    return ABSENT if value is None else value.split(b" ", 1)[0].decode()


def _stored(source: str, entry: _Entry) -> Stored:
    messages = [complete(message, entry.position) for message in unpack_messages(entry.messages)]
    return Stored(_source(source), entry.position, messages)


def _source(text: str) -> Source:
    topic, partition, offset = text.split("/")
    return Source(topic, int(partition), int(offset))
