"""The lane of one process: every batch, from the agents of all topics, goes through it one after the other."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from worker.ratings.delivery import Source
from worker.ratings.wire import Message
from worker.rules.pools import Pool
from worker.settings import Settings
from worker.stream.apply import Applied, Decided, Progress, Target, apply, commit, decide_all, load
from worker.stream.decode import Decoded
from worker.stream.ending import BUDGET_SPENT, CRASHED, DOES_NOT_FIT, Exit, Fatal
from worker.stream.fit import ADVICE, check_gap
from worker.stream.health import Health
from worker.stream.intake import Batch, Intake
from worker.stream.metrics import Metrics
from worker.stream.offsets import Offsets
from worker.stream.publish import Publisher
from worker.stream.record import log_outcomes, record
from worker.stream.retry import retried
from worker.tables.errors import HoleError, LostWritesError
from worker.tables.tables import Loaded, Marker, Partition, PoolTables

log = structlog.get_logger()

T = TypeVar("T")

PATIENCE_S = 2.0
"""How long Kafka may take to confirm a batch before the worker calls itself not ready, in seconds."""


BATCHES_FINISHING = 2
"""How many batches are published and settled while the next is committed."""


class _Loaded(NamedTuple):
    """A batch that is loaded and not yet decided, pool by pool."""

    batch: Batch
    parts: Mapping[str, Loaded]


class _Prepared(NamedTuple):
    """A batch that is decided and not yet committed, pool by pool."""

    batch: Batch
    parts: Mapping[str, Decided]


class _Finishing(NamedTuple):
    """What is still to be done for a batch that is committed; each ends with what it failed with, or the one before."""

    published: "asyncio.Task[None]"
    settled: "asyncio.Task[None]"


class Lane:
    """The way of one batch, in this order:

    1. take what waits, merged by the events' instants;
    2. load, pool by pool, what it needs, in one round trip with the commit of the batch before the last;
    3. decide, on what was loaded and on top of the batch before, which is not in it, and make the commit ready;
    4. commit, once that of the batch before is done; what it found stale is decided again, and so is what was on top;
    5. publish its answers, in order, and wait until Kafka has confirmed every one;
    6. settle: take them out of the outbox and move the markers, in every pool;
    7. acknowledge to Faust.

    So several batches are under way: while Redis commits one and loads the one after the next, the next is decided,
    the one before is published and the one before that settled. Each step but the third is done with one batch before
    it begins with the next. `tables` has every pool, and UNPOOLED.
    """

    def __init__(
        self,
        settings: Settings,
        pools: Mapping[str, Pool],
        tables: Mapping[str, PoolTables],
        intake: Intake,
        publisher: Publisher,
        offsets: Offsets,
        metrics: Metrics,
        health: Health,
        leave: Exit,
    ) -> None:
        self._settings = settings
        self._tables = tables
        self._targets = {
            name: Target(name, pools.get(name), table, settings.topic_prefix) for name, table in tables.items()
        }
        self._intake = intake
        self._publisher = publisher
        self._offsets = offsets
        self._metrics = metrics
        self._health = health
        self._leave = leave
        self._position = dict.fromkeys(tables, 0)
        self._expected: dict[Partition, int] = {}
        self._applied: dict[str, dict[Partition, int]] = {name: {} for name in tables}

    def believe(self, markers: Mapping[str, Mapping[Partition, Marker]]) -> None:
        """Take note of each pool's markers of newly assigned partitions: from here on Redis must not be behind them."""
        for pool, pool_markers in markers.items():
            for partition, marker in pool_markers.items():
                known = self._applied[pool].get(partition, 0)
                self._applied[pool][partition] = max(known, marker.applied)
        for partition in {partition for pool_markers in markers.values() for partition in pool_markers}:
            self._expected[partition] = min(pool_markers[partition].applied for pool_markers in markers.values())

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish, and give up on a Kafka that has not confirmed when the budget is spent."""
        if not messages:
            return
        publishing = asyncio.create_task(self._publisher.publish(messages))
        waited = 0.0
        try:
            while not (await asyncio.wait({publishing}, timeout=PATIENCE_S))[0]:
                waited += PATIENCE_S
                if waited >= self._settings.retry_s:
                    raise Fatal(
                        BUDGET_SPENT,
                        f"Kafka has confirmed nothing for {waited:g} s (RATINGS_RETRY_S); nothing was acknowledged",
                    )
                self._health.failing("Publishing", f"Kafka has confirmed nothing for {waited:g} s")
            await publishing
        finally:
            publishing.cancel()

    async def run(self) -> None:
        """Work until cancelled; whatever goes wrong for good ends the process through `leave`."""
        prepared: _Prepared | None = None
        loaded: _Loaded | None = None
        upcoming: Batch | None = None
        finishing: list[_Finishing] = []
        try:
            while True:
                is_idle = prepared is None and loaded is None
                batch = upcoming or await self._intake.next_batch(self._settings.batch_max, wait=is_idle)
                exchange = asyncio.create_task(self._commit_and_load(prepared, batch))
                decided = await self._decide(loaded, prepared) if loaded is not None else None
                upcoming = await self._intake.next_batch(self._settings.batch_max, wait=False)
                applied, parts = await exchange
                if prepared is not None:
                    # In this order: what a batch is decided on must not be older than what the one before was, for
                    # that may hold games of other workers which then would be missing in its windows.
                    if decided is not None:
                        decided = await self._decide_again(decided, applied)
                    parts |= await self._load(batch, leave_out=parts)
                    if len(finishing) == BATCHES_FINISHING:
                        await finishing.pop(0).settled
                    finishing.append(self._finish(prepared.batch, applied, finishing[-1] if finishing else None))
                prepared = decided
                loaded = _Loaded(batch, parts) if batch is not None else None
        except Exception as error:
            self._fail(error)

    def _look(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, LostWritesError):
            error = Fatal(DOES_NOT_FIT, f"{error}: Redis has lost writes. {ADVICE}")
        elif isinstance(error, HoleError):
            error = Fatal(CRASHED, f"{error}. Nothing is lost: start the worker again, and it reads from there.")
        if not self._leave.failed and not isinstance(error, Fatal):
            log.error("the lane failed", exc_info=error)
        self._leave.fail_with(error, "The lane")

    async def _look_for_gaps(self, batch: Batch) -> None:
        for partition, reached in batch.reached.items():
            expected = self._expected.get(partition, 0)
            if reached.begin > expected:
                gap = partial(check_gap, partition, expected, reached.begin, self._offsets)
                await self._retried("Looking for deleted records", gap)
            self._expected[partition] = max(expected, reached.end)

    async def _decide(self, loaded: _Loaded, before: _Prepared | None) -> _Prepared:
        decided = {}
        for name, events in loaded.batch.by_pool.items():
            under = before.parts.get(name) if before is not None else None
            decided[name] = await decide_all(
                self._targets[name], events, loaded.parts[name], under, self._metrics.stage
            )
        return _Prepared(loaded.batch, decided)

    async def _decide_again(self, decided: _Prepared, applied: Mapping[str, Applied]) -> _Prepared:
        """Decide anew in pools where the batch before did not become what this one was decided on top of."""
        parts = dict(decided.parts)
        for name, part in decided.parts.items():
            if name in applied and applied[name].conflicts:
                loaded = await self._load_pool(name, part.events)
                parts[name] = await decide_all(self._targets[name], part.events, loaded, None, self._metrics.stage)
        return _Prepared(decided.batch, parts)

    async def _commit_and_load(
        self, prepared: _Prepared | None, batch: Batch | None
    ) -> tuple[dict[str, Applied], dict[str, Loaded]]:
        """Commit one batch and load what another needs, pools side by side; nothing where a commit met conflicts."""
        decided = prepared.parts if prepared is not None else {}
        if batch is not None:
            await self._look_for_gaps(batch)
            if batch.events:
                self._metrics.batch_size.observe(len(batch.events))
        committing = (self._commit_pool(name, part, batch) for name, part in decided.items())
        loading = self._load(batch, leave_out=decided)
        parts, committed = await asyncio.gather(loading, asyncio.gather(*committing))
        parts |= {name: found for name, (_, found) in zip(decided, committed, strict=True) if found is not None}
        return {name: applied for name, (applied, _) in zip(decided, committed, strict=True)}, parts

    async def _load(self, batch: Batch | None, leave_out: Collection[str]) -> dict[str, Loaded]:
        """Load what a batch needs of all pools but those left out."""
        by_pool = batch.by_pool if batch is not None else {}
        events = {name: part for name, part in by_pool.items() if name not in leave_out}
        loaded = await asyncio.gather(*(self._load_pool(name, part) for name, part in events.items()))
        return dict(zip(events, loaded, strict=True))

    async def _load_pool(self, name: str, events: Sequence[Decoded]) -> Loaded:
        call = partial(load, self._targets[name], events, self._progress(name), self._metrics.stage)
        return await self._retried(f"Loading from pool {name}", call)

    async def _commit_pool(self, name: str, decided: Decided, batch: Batch | None) -> tuple[Applied, Loaded | None]:
        following = batch.by_pool.get(name, ()) if batch is not None else ()
        target, progress, stage = self._targets[name], self._progress(name), self._metrics.stage
        is_first = True

        async def call() -> tuple[Applied, Loaded | None]:
            nonlocal is_first
            if is_first:
                is_first = False
                return await commit(target, decided, following, progress, stage)
            # Nobody knows whether a commit that failed was carried out: what it wrote is found in the outbox.
            again = await apply(target, decided.events, progress, stage)
            again.conflicts = max(1, again.conflicts)
            return again, None

        applied, loaded = await self._retried(f"Committing to pool {name}", call)
        self._position[name] = applied.position
        return applied, loaded

    def _progress(self, name: str) -> Progress:
        # A copy: what is settled while Redis answers is not yet in the answer.
        return Progress(self._position[name], dict(self._applied[name]))

    def _finish(self, batch: Batch, applied: Mapping[str, Applied], before: "_Finishing | None") -> "_Finishing":
        """Publish, once that is over for the batch before, and settle, once that is."""
        messages = [message for part in applied.values() for message in part.messages]
        published = asyncio.create_task(self._publish_next(messages, before))
        settled = asyncio.create_task(self._settle_next(batch, applied, published, before))
        settled.add_done_callback(self._look)
        return _Finishing(published, settled)

    async def _publish_next(self, messages: Sequence[Message], before: "_Finishing | None") -> None:
        if before is not None:
            await before.published
        with self._metrics.stage("publish"):
            await self._retried("Publishing", partial(self.publish, messages))

    async def _settle_next(
        self,
        batch: Batch,
        applied: Mapping[str, Applied],
        published: "asyncio.Task[None]",
        before: "_Finishing | None",
    ) -> None:
        await published
        if before is not None:
            await before.settled
        with self._metrics.stage("settle"):
            await asyncio.gather(
                *(self._settle(name, applied[name].sources if name in applied else (), batch) for name in self._tables)
            )
        record(self._metrics, batch, applied, time.time())
        log_outcomes(applied)
        for acknowledge in batch.acknowledgements:
            await acknowledge()

    async def _settle(self, name: str, sources: Sequence[Source], batch: Batch) -> None:
        believed = self._applied[name]
        markers = [
            Marker(partition, reached.end, reached.timestamp_ms, believed.get(partition, 0), reached.begin)
            for partition, reached in batch.reached.items()
        ]
        await self._retried(f"Settling pool {name}", partial(self._tables[name].settle, sources, markers))
        for marker in markers:
            believed[marker.partition] = max(marker.believed, marker.applied)

    async def _retried(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        return await retried(what, call, self._settings.retry_s, self._health)
