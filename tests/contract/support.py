"""Topics, publishers and a lane that only notes what it is given, for tests against a broker."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic

from tests.servers.process import PATIENCE_S
from worker.settings import Settings
from worker.stream.app import PartitionBatch, WorkerApp, create_app
from worker.stream.inputs import INPUTS


def settings(bootstrap: str, prefix: str, *, batch_max: int = 1000, web_port: int = 0) -> Settings:
    """Return settings whose topics and group belong to one test."""
    return Settings(
        kafka_bootstrap=bootstrap,
        topic_prefix=prefix,
        group=f"{prefix}group",
        batch_max=batch_max,
        web_port=web_port,
        web_host="127.0.0.1",
    )


async def until(condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
    """Wait for a condition; fail, naming it, once `within_s` seconds are over."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {within_s:g} s for {what}"
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def admin(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def create_inputs(bootstrap: str, prefix: str, partitions: int) -> None:
    """Create the input topics."""
    async with admin(bootstrap) as client:
        await client.create_topics([NewTopic(prefix + name, partitions, 1) for name in INPUTS])


async def raise_partitions(bootstrap: str, topic: str, partitions: int) -> None:
    async with admin(bootstrap) as client:
        await client.create_partitions({topic: NewPartitions(partitions)})


@contextlib.asynccontextmanager
async def producer(bootstrap: str, **options: object) -> AsyncIterator[AIOKafkaProducer]:
    client = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, **options)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def publish(client: AIOKafkaProducer, topic: str, partition: int, values: Iterable[bytes]) -> None:
    """Publish values to one partition, in order."""
    batch = client.create_batch()
    for value in values:
        if batch.append(key=None, value=value, timestamp=None) is None:
            await (await client.send_batch(batch, topic, partition=partition))
            batch = client.create_batch()
            batch.append(key=None, value=value, timestamp=None)
    if batch.record_count():
        await (await client.send_batch(batch, topic, partition=partition))


def numbers(count: int, start: int = 0) -> list[bytes]:
    """Return `count` values, each another."""
    return [b"%d" % number for number in range(start, start + count)]


async def committed(bootstrap: str, group: str, topic: str, partitions: int) -> list[int | None]:
    """Return the group's committed offset of each partition of the topic."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
    await consumer.start()
    try:
        return [await consumer.committed(TopicPartition(topic, partition)) for partition in range(partitions)]
    finally:
        await consumer.stop()


async def members(bootstrap: str, group: str) -> list[str]:
    """Return the ids of the group's members."""
    async with admin(bootstrap) as client:
        (found,) = await client.describe_consumer_groups([group])
        return [member[0] for member in found.groups[0][5]]


async def end_offsets(bootstrap: str, topic: str, partitions: int) -> list[int]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
        found = await consumer.end_offsets(wanted)
        return [found[partition] for partition in wanted]
    finally:
        await consumer.stop()


class NotingLane:
    """Notes every batch; acknowledges it at once unless `hold` says that it is to stay in hand."""

    def __init__(self, hold: Callable[[PartitionBatch], bool] = lambda _batch: False) -> None:
        self.hold = hold
        self.batches: list[PartitionBatch] = []
        self.held: list[PartitionBatch] = []
        self.assignments: list[frozenset[TopicPartition]] = []
        self.revocations: list[frozenset[TopicPartition]] = []

    async def take(self, batch: PartitionBatch) -> None:
        self.batches.append(batch)
        if self.hold(batch):
            self.held.append(batch)
        else:
            await batch.acknowledge()

    async def assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.assignments.append(partitions)

    async def revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.revocations.append(partitions)

    @property
    def records(self) -> list[ConsumerRecord]:
        return [record for batch in self.batches for record in batch.records]

    def values(self, topic: str) -> dict[int, list[bytes]]:
        """Return what came from each partition of the topic, in the order in which it came."""
        found: dict[int, list[bytes]] = defaultdict(list)
        for record in self.records:
            if record.topic == topic:
                found[record.partition].append(record.value)
        return dict(found)

    async def until_records(self, count: int) -> None:
        await until(lambda: len(self.records) >= count, f"{count} records, {len(self.records)} came")


def app_for(lane: NotingLane, chosen: Settings) -> WorkerApp:
    return create_app(chosen, lane.take, assigned=lane.assigned, revoked=lane.revoked)


@contextlib.asynccontextmanager
async def running(*apps: WorkerApp) -> AsyncIterator[None]:
    """Run apps, and stop them in good order; what one of them died of is raised."""
    starts = [asyncio.create_task(app.start()) for app in apps]
    try:
        for app in apps:
            await until(lambda app=app: app.is_consuming or app.crashed, "the worker to consume")
        yield
    finally:
        for app in apps:
            await app.stop()
        await asyncio.gather(*starts)
    reasons: Sequence[str] = [
        app.leave.reason or repr(app.crash_reason) for app in apps if app.leave.failed or app.crashed
    ]
    assert not reasons
