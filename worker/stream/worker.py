"""One worker, put together: settings in, exit code out."""

import asyncio
import contextlib
import gc
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TypeVar

import mode
import structlog
from aiokafka import TopicPartition

from worker.rules.pools import Pool
from worker.settings import Settings
from worker.stream.app import WorkerApp, create_app
from worker.stream.decode import Decoder
from worker.stream.ending import Exit
from worker.stream.fit import check_assignment
from worker.stream.health import Health
from worker.stream.inputs import INPUTS
from worker.stream.intake import Intake
from worker.stream.lane import Lane
from worker.stream.metrics import Metrics
from worker.stream.missed import catch_up
from worker.stream.offsets import Offsets
from worker.stream.opening import load_pools, open_tables
from worker.stream.publish import Publisher
from worker.stream.redis import redis_at, redis_client
from worker.stream.retry import is_transient, retried, shown
from worker.stream.run import run_worker
from worker.stream.season import open_season
from worker.stream.upkeep import prune, report_lag
from worker.stream.web import add_pages
from worker.tables.registry import Registry
from worker.tables.tables import Marker, Partition

log = structlog.get_logger()

T = TypeVar("T")
C = TypeVar("C", Offsets, Publisher)

UPKEEP_EVERY_S = 5.0
PRUNE_EVERY_S = 600.0


def work(settings: Settings) -> int:
    """Run a worker until it is told to end, and return its exit code.

    0: ended in good order; 1: crashed; 3: state and log do not fit; 4: Redis or Kafka was away for too long.
    """
    pools = load_pools(settings)
    leave = Exit()
    # What a batch leaves behind is freed by reference counts; looking for cycles among it costs a tenth of the
    # throughput, so that is done between times, by upkeep.
    gc.freeze()
    gc.disable()
    return run_worker(_Worker(settings, pools, leave).app, settings)


class _Worker(mode.Service):
    """Everything that agents need, started before them and stopped after them."""

    def __init__(self, settings: Settings, pools: Mapping[str, Pool], leave: Exit) -> None:
        super().__init__()
        self._settings = settings
        self._pools = pools
        self._leave = leave
        self._health = Health()
        self._metrics = Metrics()
        self._partitions: list[Partition] = []
        self._running: set[asyncio.Task[None]] = set()
        self._open = contextlib.AsyncExitStack()
        self._first_input = Partition(settings.topic(INPUTS[0]), 0)
        self._intake = Intake(
            {settings.topic(name): Decoder(name, pools) for name in INPUTS}, most_waiting=2 * settings.batch_max
        )
        self.app: WorkerApp = create_app(
            settings,
            self._intake.put,
            leave=leave,
            before_start=[self],
            assigned=self._assigned,
            revoked=self._revoked,
        )
        add_pages(self.app, ready=self._not_ready, registry=self._metrics.registry)

    async def on_start(self) -> None:
        """Connect, see that state and log can fit, and open the lane."""
        settings = self._settings
        run = f"{socket.gethostname()}-{secrets.token_hex(6)}".replace(" ", "-")
        client = redis_client(settings)
        self._open.push_async_callback(client.aclose)
        self._tables = open_tables(client, settings, self._pools, run)
        self._registry = Registry(client, settings.redis_namespace)
        kafka = f"{settings.kafka_bootstrap} (RATINGS_KAFKA_BOOTSTRAP)"
        self._offsets = await self._connected(f"Connecting to Kafka at {kafka}", Offsets(settings))
        publisher = await self._connected("Connecting the publisher", Publisher(settings))
        await self._retried(
            f"Opening the tables in Redis at {redis_at(settings)} (RATINGS_REDIS_URL)",
            partial(open_season, settings, INPUTS, self._registry, self._tables, self._offsets),
        )
        self._lane = Lane(
            settings,
            self._pools,
            self._tables,
            self._intake,
            publisher,
            self._offsets,
            self._metrics,
            self._health,
            self._leave,
        )
        self._running = {asyncio.create_task(self._lane.run()), asyncio.create_task(self._watch(self._keep_up()))}
        log.info("worker started", run=run, pools=sorted(self._pools), group=settings.group)

    async def on_stop(self) -> None:
        """End the lane and disconnect, also from a start that was not completed."""
        running = self._running
        while running:  # wait_for of Python 3.11, inside the Redis client, may swallow a cancellation
            for task in running:
                task.cancel()
            _, running = await asyncio.wait(running, timeout=0.1)
        await self._open.aclose()

    async def _connected(self, what: str, client: C) -> C:
        await self._retried(what, client.start)
        self._open.push_async_callback(client.stop)
        return client

    async def _assigned(self, partitions: frozenset[TopicPartition]) -> None:
        names = [Partition(tp.topic, tp.partition) for tp in partitions]
        markers = await self._retried("Checking the assignment", partial(self._check_assignment, names))
        self._partitions = names
        self._lane.believe(markers)
        log.info("partitions assigned", partitions=sorted(f"{tp.topic}/{tp.partition}" for tp in partitions))

    async def _check_assignment(self, partitions: Sequence[Partition]) -> dict[str, dict[Partition, Marker]]:
        await catch_up(partitions, self._tables, self._registry, self._lane.publish)
        markers = await check_assignment(partitions, self._tables, self._offsets)
        await self._registry.note_reader(partitions, self._pools)
        return markers

    async def _revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await self._intake.drop(Partition(tp.topic, tp.partition) for tp in partitions)

    async def _keep_up(self) -> None:
        """Report lag and test that Redis takes writes every few seconds; prune now and then, one worker for all."""
        pruned_at = -PRUNE_EVERY_S
        loop = asyncio.get_running_loop()
        while True:
            step = "Writing to Redis"
            try:
                await self._registry.check_writable()
                self._health.works(step)
                step = "Reading offsets and markers"
                await report_lag(self._partitions, self._tables, self._offsets, self._metrics)
                if loop.time() - pruned_at > PRUNE_EVERY_S and self._first_input in self._partitions:
                    pruned_at = loop.time()
                    await prune(await self._inputs(), self._pools, self._tables, self._offsets, self._metrics)
                self._health.works(step)
            except Exception as error:
                if not is_transient(error):
                    raise
                if self._health.failing(step, shown(error)):
                    log.warning("not ready", step=step, error=shown(error))
            gc.collect()
            await asyncio.sleep(UPKEEP_EVERY_S)

    async def _watch(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:
            log.exception("upkeep failed")
            self._leave.fail_with(error, "Upkeep")

    async def _inputs(self) -> list[Partition]:
        found = await self._offsets.partitions([self._settings.topic(name) for name in INPUTS])
        return [partition for partitions in found.values() for partition in partitions]

    def _not_ready(self) -> list[str]:
        reasons = self._health.reasons
        if not self.app.is_consuming:
            reasons.append("The worker has not joined its group yet, or is waiting for an assignment.")
        return reasons

    async def _retried(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        return await retried(what, call, self._settings.retry_s, self._health)
