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
from worker.stream.ending import Exit, cancelled, is_expected
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
from worker.stream.upkeep import prune
from worker.stream.watch import keep_looking
from worker.stream.watch_kafka import KafkaWatch
from worker.stream.watch_redis import RedisWatch
from worker.stream.web import Pages, Readiness
from worker.tables.connect import RedisClient
from worker.tables.outbox_age import OutboxAge
from worker.tables.registry import Registry
from worker.tables.tables import Marker, Partition

log = structlog.get_logger()

T = TypeVar("T")
C = TypeVar("C", Offsets, Publisher)

COLLECT_GARBAGE_EVERY_S = 5.0
PRUNE_EVERY_S = 600.0
PRUNE_RETRY_S = 5.0
CLOSE_S = 1.0
"""How long closing what is connected may take at the end."""


def work(settings: Settings) -> int:
    """Run a worker until it is told to end, and return its exit code.

    0: ended in good order; 1: crashed; 3: state and log do not fit; 4: Redis or Kafka was away for too long.
    """
    pools = load_pools(settings)
    leave = Exit()
    # What a batch leaves behind is freed by reference counts; looking for cycles among it costs a tenth of the
    # throughput, so that is done between times.
    gc.freeze()
    gc.disable()
    worker = _Worker(settings, pools, leave)
    return run_worker(worker.app, settings, waits_for=worker.waits_for)


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
        self._inputs = [settings.topic(name) for name in INPUTS]
        self._intake = Intake(
            {settings.topic(name): Decoder(name, pools) for name in INPUTS}, most_waiting=2 * settings.batch_max
        )
        self._metrics.ready.set_function(lambda: not self._readiness().reasons)
        self.app: WorkerApp = create_app(
            settings,
            self._intake.put,
            leave=leave,
            before_start=[*self._pages(), self],
            assigned=self._assigned,
            revoked=self._revoked,
        )

    def _pages(self) -> list[Pages]:
        """Return the web server, which starts first, so that it answers while the rest starts."""
        host, port = self._settings.web_host, self._settings.web_port
        return [Pages(host, port, ready=self._readiness, registry=self._metrics.registry)] if port else []

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
        self._running = {
            asyncio.create_task(work)
            for work in (self._lane.run(), *(self._to_the_end(work) for work in self._beside_the_lane(client)))
        }
        log.info("worker started", run=run, pools=sorted(self._pools), group=settings.group)

    async def on_stop(self) -> None:
        """End the lane and disconnect, also from a start that was not completed."""
        await cancelled(self._running, CLOSE_S)
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._open.aclose()
        except TimeoutError:
            log.warning("connections were not closed in good order", within_s=CLOSE_S)

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

    def _beside_the_lane(self, client: RedisClient) -> list[Coroutine[None, None, None]]:
        """Return what goes on for ever, each for itself, so that one that hangs holds up no other."""
        settings, health = self._settings, self._health
        ages = {name: OutboxAge(client, settings.redis_namespace, name) for name in self._tables}
        redis = RedisWatch(self._registry, self._tables, ages, self._metrics, health)
        kafka = KafkaWatch(self._inputs, self._offsets, self._metrics)
        return [
            keep_looking(redis, health, settings.retry_s),
            keep_looking(kafka, health, settings.retry_s),
            self._keep_pruning(),
            _collect_garbage(),
        ]

    async def _keep_pruning(self) -> None:
        """Prune now and then, one worker for all; what fails for a passing reason is tried again soon."""
        first = Partition(self._inputs[0], 0)
        while True:
            pause_s = PRUNE_RETRY_S
            if first in self._partitions:
                try:
                    found = await self._offsets.partitions(self._inputs)
                    inputs = [partition for partitions in found.values() for partition in partitions]
                    await prune(inputs, self._pools, self._tables, self._offsets, self._metrics)
                    pause_s = PRUNE_EVERY_S
                except Exception as error:
                    if not is_transient(error):
                        raise
                    log.warning("pruning failed", error=shown(error), again_in_s=pause_s)
            await asyncio.sleep(pause_s)

    async def _to_the_end(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:
            if not is_expected(error):
                log.exception("upkeep failed")
            self._leave.fail_with(error, "Upkeep")

    def waits_for(self) -> list[str]:
        """Return the steps that wait for Redis or Kafka at the moment."""
        return self._health.under_way

    def _readiness(self) -> Readiness:
        reasons = self._health.reasons
        if not self.app.is_consuming:
            reasons.append("The worker has not joined its group yet, or is waiting for an assignment.")
        return Readiness(reasons, self._health.warnings)

    async def _retried(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        return await retried(what, call, self._settings.retry_s, self._health)


async def _collect_garbage() -> None:
    while True:
        gc.collect()
        await asyncio.sleep(COLLECT_GARBAGE_EVERY_S)
