"""The tables of one pool in Redis: every verb one Lua script, every key in one slot."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import takewhile
from typing import Any, Final, NamedTuple

from msgspec.msgpack import encode
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoScriptError

from worker.ratings.delivery import Source
from worker.ratings.outcome import Outcome
from worker.tables.answers import committed, partition_of, places, refusal, source_of, stored
from worker.tables.connect import RedisClient
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
    unpack_parked,
    unpack_prize,
    unpack_record,
    unpack_row,
)
from worker.tables.tables import (
    Around,
    Cause,
    Commit,
    Committed,
    Loaded,
    Marker,
    Page,
    Partition,
    Pruned,
    Wanted,
    check_page,
)

Argument = str | bytes | int
UNCHECKED = "*"
NOT_SHOWN = "-"
HOUR_MS: Final = 3_600_000
PRUNED_AT_ONCE: Final = 500
"""Most of anything that one step of pruning looks at or removes, so that it never holds Redis up for long."""


class Call(NamedTuple):
    """One call of a script."""

    verb: str
    keys: Sequence[str]
    arguments: Sequence[Argument]


class RedisTables:
    """`PoolTables` over one Redis, Sentinel group or cluster. `run` names this process's life in the outbox.

    Records of matches are kept for `records_kept_ms` behind the horizon.
    """

    def __init__(self, client: RedisClient, namespace: str, pool: str, run: str, records_kept_ms: int = 0) -> None:
        self.pool = pool
        self._records_kept_ms = records_kept_ms
        self._client: Any = client
        self._base = f"{namespace}:{{{pool}}}:"
        self._run = run
        self._scripts = {
            verb: client.register_script(files("worker.tables").joinpath(f"lua/{verb}.lua").read_text())
            for verb in ("load", "commit", "settle", "raise", "prune", "leaderboard", "around")
        }

    def _keys(self, *names: str) -> list[str]:
        return [self._base + name for name in names]

    def _window(self, player_id: str) -> str:
        return f"{self._base}window:{player_id}"

    def _hour(self, hour: int | str) -> str:
        return f"{self._base}due:{hour}"

    async def _call(self, verb: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        return await self._scripts[verb](keys=keys, args=arguments)

    async def load(self, wanted: Wanted) -> Loaded:
        """See `PoolTables.load`."""
        return self._loaded(wanted, await self._call(*self._loading(wanted)))

    def _loading(self, wanted: Wanted) -> Call:
        keys = self._keys(
            "players", "matches", "parked", "outbox", "heads", "applied", "horizon", "position", "prizes", "aliases"
        )
        index = {player_id: place for place, player_id in enumerate(wanted.players, 1)}
        games = []
        for player_id, finished_at_ms, match_id in wanted.games:
            keys.append(self._window(player_id))
            games.append((index[player_id], finished_at_ms, match_id))
        asked = (
            wanted.players,
            wanted.match_ids,
            [str(source) for source in wanted.sources],
            [_field(partition) for partition in wanted.partitions],
            wanted.window_ms,
            games,
            [prize_field(key) for key in wanted.prizes],
        )
        return Call("load", keys, [encode(asked)])

    def _loaded(self, wanted: Wanted, answer: Any) -> Loaded:
        rows, records, parked, outbox, applied, horizon, position, counts, prizes, linked = answer
        horizon_ms = int(horizon)
        found = {name: unpack_row(row) for name, row in zip(wanted.players, rows, strict=True) if row}
        links = {}
        for name, packed, account_row in zip(linked[::3], linked[1::3], linked[2::3], strict=True):
            link = links[name.decode()] = unpack_link(packed)
            if account_row:
                found[link.account_id] = unpack_row(account_row)
        return Loaded(
            found,
            {
                name: unpack_record(record)
                for name, record in zip(wanted.match_ids, records, strict=True)
                if record and record_instant_ms(record) >= horizon_ms - self._records_kept_ms
            },
            {
                name: unpack_parked(value)
                for name, value in zip(wanted.match_ids, parked, strict=False)
                if value and parked_instant_ms(value) >= horizon_ms
            },
            dict(zip(wanted.games, counts, strict=True)),
            stored(outbox),
            {name: int(value) for name, value in zip(wanted.partitions, applied, strict=True) if value is not None},
            horizon_ms,
            int(position),
            {key: unpack_prize(value) for key, value in zip(wanted.prizes, prizes, strict=True) if value},
            links,
        )

    async def commit(self, commit: Commit) -> Committed:
        """See `PoolTables.commit`."""
        return committed(await self._call(*commit.call))

    async def commit_then_load(self, commit: Commit, wanted: Wanted) -> tuple[Committed, Loaded]:
        """See `PoolTables.commit_then_load`. On a cluster, whose client pipelines no scripts, it is two round trips."""
        if isinstance(self._client, RedisCluster):
            return await self.commit(commit), await self.load(wanted)
        pipeline = self._client.pipeline(transaction=False)
        for verb, keys, arguments in (commit.call, self._loading(wanted)):
            pipeline.evalsha(self._scripts[verb].sha, len(keys), *keys, *arguments)
        written, loaded = await pipeline.execute(raise_on_error=False)
        if isinstance(written, NoScriptError):  # a Redis that was started anew knows no scripts
            return await self.commit(commit), await self.load(wanted)
        if isinstance(loaded, NoScriptError):
            return committed(written), await self.load(wanted)
        for answer in (written, loaded):
            if isinstance(answer, Exception):
                raise answer
        return committed(written), self._loaded(wanted, loaded)

    def prepare(self, causes: Sequence[Cause]) -> Commit:
        """See `PoolTables.prepare`."""
        keys = self._keys(
            *("players", "matches", "parked", "outbox", "heads", "leaderboard", "position", "horizon"),
            *("prizes", "aliases", "applied", "due"),
        )
        blobs = _Blobs(first_place=4)
        hours: dict[int, int] = {}
        packed = [self._pack(cause, keys, blobs, hours) for cause in causes]
        return Commit(causes, Call("commit", keys, [self._run, self._records_kept_ms, encode(packed), *blobs.parts]))

    def _pack(self, cause: Cause, keys: list[str], blobs: "_Blobs", hours: dict[int, int]) -> tuple[object, ...]:
        """Return the cause as commit.lua describes it; adds its bytes to `blobs`, and to `keys` its windows and hour.

        `hours` has the places of the hours among the keys.
        """
        outcome = cause.outcome
        windows = []
        for entry in outcome.windows:
            keys.append(self._window(entry.player_id))
            windows.append((len(keys), entry.finished_at_ms, entry.match_id))
        return (
            str(cause.source),
            outcome.instant_ms,
            outcome.changes is not None,
            names_of(outcome),
            [
                (
                    player_id,
                    row_version(replaces),
                    pack_row(row),
                    repr(-row.rating) if player_id in outcome.on_leaderboard else NOT_SHOWN if row.retired else "",
                )
                for player_id, row, replaces in outcome.rows
            ],
            *_pack_record(outcome, blobs),
            *_pack_parked(outcome, blobs),
            windows,
            [replaces.last_source for _, _, replaces in outcome.rows if replaces is not None],
            blobs.add(pack_messages(cause.messages)) if cause.messages else 0,
            *_pack_facts(outcome, blobs),
            outcome.unlinked,
            self._place_of_hour(outcome, keys, hours),
        )

    def _place_of_hour(self, outcome: Outcome, keys: list[str], hours: dict[int, int]) -> int:
        """Return the place of the list of the hour in which what the cause keeps falls due, as commit.lua has it."""
        if outcome.record is None and outcome.parked is None:
            return 0
        kept_ms = self._records_kept_ms if outcome.record is not None else 0
        hour = (outcome.instant_ms + kept_ms) // HOUR_MS
        if hour not in hours:
            keys.append(self._hour(hour))
            hours[hour] = len(keys)
        return hours[hour]

    async def settle(self, sources: Sequence[Source], markers: Sequence[Marker]) -> None:
        """See `PoolTables.settle`."""
        arguments: list[Argument] = [len(sources)]
        for source in sources:
            arguments += [str(source), f"{source.topic}/{source.partition}", source.offset]
        for marker in markers:
            arguments += [_field(marker.partition), marker.believed, marker.applied, marker.timestamp_ms, marker.begin]
        refused = await self._call("settle", self._keys("outbox", "heads", "applied", "timestamps"), arguments)
        if refused:
            raise refusal(self.pool, *(part.decode() for part in refused))

    async def begin(self, markers: Sequence[Marker]) -> None:
        """See `PoolTables.begin`."""
        for marker in markers:
            await self._client.hsetnx(f"{self._base}applied", _field(marker.partition), str(marker.applied))

    async def markers(self) -> Mapping[Partition, Marker]:
        """See `PoolTables.markers`."""
        applied = await self._client.hgetall(f"{self._base}applied")
        timestamps = await self._client.hgetall(f"{self._base}timestamps")
        return {
            (partition := partition_of(field)): Marker(partition, int(offset), int(timestamps.get(field, 0)))
            for field, offset in applied.items()
        }

    async def raise_horizon(self, horizon_ms: int) -> int:
        """See `PoolTables.raise_horizon`."""
        return int(await self._call("raise", self._keys("horizon"), [horizon_ms]))

    async def prune(self, window_ms: int) -> Pruned:
        """See `PoolTables.prune`. An hour that the horizon has entered is opened first."""
        horizon = int(await self._client.get(f"{self._base}horizon") or 0)
        due = await self._client.zrangebyscore(f"{self._base}due", "-inf", f"({horizon}", start=0, num=PRUNED_AT_ONCE)
        if not due:
            return Pruned(False, 0, 0, 0)
        hour = due[0][1:].decode() if due[0].startswith(b"h") else ""
        entries = list(takewhile(lambda entry: not entry.startswith(b"h"), due))
        windows = [self._window(entry[1:].decode()) for entry in entries if entry.startswith(b"w")]
        keys = [*self._keys("horizon", "due", "matches", "parked"), self._hour(hour), *windows]
        return Pruned(
            True, *await self._call("prune", keys, [window_ms, self._records_kept_ms, hour, PRUNED_AT_ONCE, *entries])
        )

    async def leaderboard(self, first: int, limit: int) -> Page:
        """See `PoolTables.leaderboard`."""
        check_page(limit, first)
        players, ids, rows = await self._call(
            "leaderboard", self._keys("leaderboard", "players"), [first - 1, first + limit - 2]
        )
        return Page(players, places(first, ids, rows))

    async def around(self, player_id: str, limit: int) -> Around:
        """See `PoolTables.around`."""
        check_page(limit)
        players, row, *shown = await self._call("around", self._keys("leaderboard", "players"), [player_id, limit])
        if not shown:
            return Around(None, unpack_row(row) if row else None, Page(players, []))
        place, first, ids, rows = shown
        return Around(place + 1, unpack_row(row), Page(players, places(first + 1, ids, rows)))

    async def unsettled(self) -> list[Source]:
        """See `PoolTables.unsettled`."""
        return [source_of(field) for field in await self._client.hkeys(f"{self._base}heads")]

    async def outbox_size(self) -> int:
        """See `PoolTables.outbox_size`."""
        return int(await self._client.hlen(f"{self._base}outbox"))


def _field(partition: Partition) -> str:
    return f"{partition.topic}/{partition.number}"


class _Blobs:
    """Bytes that travel beside MessagePack, each known by its place among the arguments."""

    def __init__(self, first_place: int) -> None:
        self._first_place = first_place
        self.parts: list[bytes] = []

    def add(self, part: bytes) -> int:
        self.parts.append(part)
        return self._first_place + len(self.parts) - 1


def _pack_record(outcome: Outcome, blobs: _Blobs) -> tuple[object, ...]:
    if outcome.record is None:
        return (outcome.match_id if outcome.record_absent else "", ABSENT, "", 0)
    record, replaces = outcome.record.record, outcome.record.replaces
    return (outcome.match_id, record_version(replaces), record_version(record), blobs.add(pack_record(record)))


def _pack_parked(outcome: Outcome, blobs: _Blobs) -> tuple[object, ...]:
    if outcome.parked is None:
        return (UNCHECKED, 0)
    parked, replaces = outcome.parked.parked, outcome.parked.replaces
    return (parked_version(replaces), blobs.add(pack_parked(parked)) if parked is not None else 0)


def _pack_facts(outcome: Outcome, blobs: _Blobs) -> tuple[object, object]:
    prize, link = outcome.prize, outcome.link
    paid = (prize_field((prize.tournament_id, prize.player_id)), blobs.add(pack_fact(prize))) if prize else 0
    linked = (link.anonymous_id, link.account_id, blobs.add(pack_fact(link))) if link else 0
    return paid, linked
