"""The lane of one process: every batch, from the agents of all topics, goes through it one after the other."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from worker.ratings.delivery import Source
from worker.ratings.wire import Message
from worker.rules.pools import Pool
from worker.settings import Settings
from worker.stream.apply import Applied, Decided, Progress, Target, apply, commit, decide_all, load
from worker.stream.decode import Decoded
from worker.stream.ending import BUDGET_SPENT, DOES_NOT_FIT, Exit, Fatal
from worker.stream.fit import ADVICE, check_gap
from worker.stream.health import Health
from worker.stream.intake import Batch, Intake
from worker.stream.metrics import Metrics
from worker.stream.offsets import Offsets
from worker.stream.publish import Publisher
from worker.stream.record import log_outcomes, record
from worker.stream.retry import retried
from worker.tables.errors import LostWritesError
from worker.tables.tables import UNPOOLED, Loaded, Marker, Partition, PoolTables

log = structlog.get_logger()

T = TypeVar("T")

PATIENCE_S = 2.0
"""How long Kafka may take to confirm a batch before the worker calls itself not ready, in seconds."""


class _Prepared(NamedTuple):
    """A batch that is decided and not yet committed, pool by pool."""

    batch: Batch
    parts: Mapping[str, Decided]


class Lane:
    """The way of one batch, in this order:

    1. take what waits, merged by the events' instants;
    2. load, pool by pool, what it needs; only then the batch before it is committed, so that its effects are not in it;
    3. decide, on what was loaded and on top of the batch before;
    4. commit, once that of the batch before is done; what it found stale is decided again, and so is what was on top;
    5. publish its answers, in order, and wait until Kafka has confirmed every one;
    6. settle: take them out of the outbox and move the markers, in every pool;
    7. acknowledge to Faust.

    Commits come one after the other, and so do steps 5 to 7: those of one batch are over before the next one's begin.
    `tables` has every pool, and UNPOOLED.
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
                self._expected[partition] = marker.applied

    async def run(self) -> None:
        """Work until cancelled; whatever goes wrong for good ends the process through `leave`."""
        prepared: _Prepared | None = None
        finishing: asyncio.Task[None] | None = None
        try:
            while True:
                batch = await self._intake.next_batch(self._settings.batch_max, wait=prepared is None)
                parts = await self._load(batch) if batch is not None else {}
                committing = asyncio.create_task(self._commit(prepared)) if prepared is not None else None
                following = await self._decide(batch, parts, prepared) if batch is not None else None
                if prepared is not None and committing is not None:
                    applied = await committing
                    if following is not None:
                        following = await self._decide_again(following, applied)
                    if finishing is not None:
                        await finishing
                    finishing = asyncio.create_task(self._finish(prepared.batch, applied))
                    finishing.add_done_callback(self._look)
                prepared = following
        except Exception as error:
            self._fail(error)

    def _look(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, LostWritesError):
            error = Fatal(DOES_NOT_FIT, f"{error}: Redis has lost writes. {ADVICE}")
        if not self._leave.failed and not isinstance(error, Fatal):
            log.error("the lane failed", exc_info=error)
        self._leave.fail_with(error, "The lane")

    async def _look_for_gaps(self, batch: Batch) -> None:
        for partition, reached in batch.reached.items():
            expected = self._expected.get(partition, 0)
            if reached.first > expected:
                gap = partial(check_gap, partition, expected, self._offsets)
                await self._retried("Looking for deleted records", gap)
            self._expected[partition] = max(expected, reached.offset)

    async def _load(self, batch: Batch) -> dict[str, tuple[Sequence[Decoded], Loaded]]:
        await self._look_for_gaps(batch)
        self._metrics.batch_size.observe(len(batch.events))
        events: dict[str, list[Decoded]] = defaultdict(list)
        for event in batch.events:
            events[event.pool or UNPOOLED].append(event)
        loaded = await asyncio.gather(*(self._load_pool(name, part) for name, part in events.items()))
        return {name: (part, found) for (name, part), found in zip(events.items(), loaded, strict=True)}

    async def _load_pool(self, name: str, events: Sequence[Decoded]) -> Loaded:
        call = partial(load, self._targets[name], events, self._progress(name), self._metrics.stage)
        return await self._retried(f"Loading from pool {name}", call)

    async def _decide(
        self, batch: Batch, parts: Mapping[str, tuple[Sequence[Decoded], Loaded]], before: _Prepared | None
    ) -> _Prepared:
        decided = {}
        for name, (events, loaded) in parts.items():
            under = before.parts.get(name) if before is not None else None
            decided[name] = await decide_all(self._targets[name], events, loaded, under, self._metrics.stage)
        return _Prepared(batch, decided)

    async def _decide_again(self, following: _Prepared, applied: Mapping[str, Applied]) -> _Prepared:
        """Decide anew in pools where the batch before did not become what this one was decided on top of."""
        parts = {}
        for name, decided in following.parts.items():
            parts[name] = decided
            if name in applied and applied[name].conflicts:
                loaded = await self._load_pool(name, decided.events)
                target, stage = self._targets[name], self._metrics.stage
                parts[name] = await decide_all(target, decided.events, loaded, None, stage)
        return _Prepared(following.batch, parts)

    async def _commit(self, prepared: _Prepared) -> dict[str, Applied]:
        parts = prepared.parts.items()
        applied = await asyncio.gather(*(self._commit_pool(name, decided) for name, decided in parts))
        return dict(zip(prepared.parts, applied, strict=True))

    async def _commit_pool(self, name: str, decided: Decided) -> Applied:
        target, progress, stage = self._targets[name], self._progress(name), self._metrics.stage
        is_first = True

        async def call() -> Applied:
            nonlocal is_first
            if is_first:
                is_first = False
                return await commit(target, decided, progress, stage)
            # Nobody knows whether a commit that failed was carried out: what it wrote is found in the outbox.
            again = await apply(target, decided.events, progress, stage)
            again.conflicts = max(1, again.conflicts)
            return again

        applied = await self._retried(f"Committing to pool {name}", call)
        self._position[name] = applied.position
        return applied

    def _progress(self, name: str) -> Progress:
        # A copy: what is settled while Redis answers is not yet in the answer.
        return Progress(self._position[name], dict(self._applied[name]))

    async def _finish(self, batch: Batch, applied: Mapping[str, Applied]) -> None:
        messages = [message for part in applied.values() for message in part.messages]
        with self._metrics.stage("publish"):
            await self._retried("Publishing", partial(self._publish, messages))
        with self._metrics.stage("settle"):
            await asyncio.gather(
                *(self._settle(name, applied[name].sources if name in applied else (), batch) for name in self._tables)
            )
        record(self._metrics, batch, applied, time.time())
        log_outcomes(applied)
        for acknowledge in batch.acknowledgements:
            await acknowledge()

    async def _publish(self, messages: Sequence[Message]) -> None:
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

    async def _settle(self, name: str, sources: Sequence[Source], batch: Batch) -> None:
        believed = self._applied[name]
        markers = [
            Marker(partition, reached.offset, reached.timestamp_ms, believed.get(partition, 0))
            for partition, reached in batch.reached.items()
        ]
        await self._retried(f"Settling pool {name}", partial(self._tables[name].settle, sources, markers))
        for marker in markers:
            believed[marker.partition] = max(marker.believed, marker.applied)

    async def _retried(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        return await retried(what, call, self._settings.retry_s, self._health)
