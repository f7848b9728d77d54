"""The lane of one process: every batch, from the agents of all topics, goes through it one after the other."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import structlog

from worker.ratings.delivery import Source
from worker.ratings.wire import Message
from worker.rules.pools import Pool
from worker.settings import Settings
from worker.stream.apply import Applied, Progress, Target, apply
from worker.stream.decode import Decoded
from worker.stream.ending import BUDGET_SPENT, DOES_NOT_FIT, Exit, Fatal
from worker.stream.fit import check_gap
from worker.stream.health import Health
from worker.stream.intake import Batch, Intake
from worker.stream.metrics import Metrics
from worker.stream.offsets import Offsets
from worker.stream.publish import Publisher
from worker.stream.record import record
from worker.stream.retry import retried
from worker.tables.errors import LostWritesError
from worker.tables.tables import Marker, Partition, PoolTables

log = structlog.get_logger()

T = TypeVar("T")

PATIENCE_S = 2.0
"""How long Kafka may take to confirm a batch before the worker calls itself not ready, in seconds."""
UNPOOLED = "-"
"""Where dead letters are kept that name no configured pool; no pool can have this name."""


class Lane:
    """The way of one batch, in this order:

    1. take what waits, merged by the events' instants;
    2. load, decide and commit it, pool by pool (`apply`), while the batch before it is being published;
    3. publish its answers, in order, and wait until Kafka has confirmed every one;
    4. settle: take them out of the outbox and move the markers, in every pool;
    5. acknowledge to Faust.

    Steps 3 to 5 of one batch are over before those of the next begin. `tables` has every pool, and UNPOOLED.
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
        self._pools = pools
        self._tables = tables
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
        finishing: asyncio.Task[None] | None = None
        try:
            while True:
                batch = await self._intake.next_batch(self._settings.batch_max)
                await self._look_for_gaps(batch)
                applied = await self._apply(batch)
                if finishing is not None:
                    await finishing
                finishing = asyncio.create_task(self._finish(batch, applied))
                finishing.add_done_callback(self._look)
        except Exception as error:
            self._fail(error)

    def _look(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, LostWritesError):
            message = f"{error}. Redis lost writes; nothing more is rated on it: see 'When state and log do not fit' in the README"
            error = Fatal(DOES_NOT_FIT, message)
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

    async def _apply(self, batch: Batch) -> dict[str, Applied]:
        self._metrics.batch_size.observe(len(batch.events))
        parts: dict[str, list[Decoded]] = defaultdict(list)
        for event in batch.events:
            parts[event.pool or UNPOOLED].append(event)
        results = await asyncio.gather(*(self._apply_pool(name, events) for name, events in parts.items()))
        return dict(zip(parts, results, strict=True))

    async def _apply_pool(self, name: str, events: Sequence[Decoded]) -> Applied:
        applied = await self._retried(
            f"Applying to pool {name}",
            partial(
                apply,
                Target(name, self._pools.get(name), self._tables[name], self._settings.topic_prefix),
                events,
                Progress(self._position[name], dict(self._applied[name])),  # settling moves it while Redis is read
                self._metrics.stage,
            ),
        )
        self._position[name] = applied.position
        return applied

    async def _finish(self, batch: Batch, applied: Mapping[str, Applied]) -> None:
        messages = [message for part in applied.values() for message in part.messages]
        with self._metrics.stage("publish"):
            await self._retried("Publishing", partial(self._publish, messages))
        with self._metrics.stage("settle"):
            await asyncio.gather(
                *(self._settle(name, applied[name].sources if name in applied else (), batch) for name in self._tables)
            )
        record(self._metrics, batch, applied, time.time())
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
