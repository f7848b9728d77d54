"""Publishing simulated records to partitions of the test's choice, and noting where each one stands."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import murmur2

from tests.integration.support.site import Site
from worker.cli.simulation import Published
from worker.ratings.delivery import Delivery, Source

CHUNK = 2000

Choose = Callable[[Published], int]


class Sent(NamedTuple):
    """A published record and where it stands."""

    record: Published
    source: Source

    @property
    def delivery(self) -> Delivery:
        """The record as a worker gets it."""
        record = self.record
        return Delivery(self.source, record.timestamp_ms, record.key, record.value, list(record.headers))


def by_key(partitions: int) -> Choose:
    """Choose as Kafka's default partitioner does."""
    return lambda record: (murmur2(record.key) & 0x7FFFFFFF) % partitions


def analyses_elsewhere(partitions: int) -> Choose:
    """Choose by key, but for analyses the partition next to it, which with two workers is the other one's."""
    choose = by_key(partitions)
    return lambda record: (choose(record) + (record.topic == "match-analyzed")) % partitions


async def publish(site: Site, records: Iterable[Published], choose: Choose, **options: Any) -> list[Sent]:
    """Publish in order, and return once everything is acknowledged."""
    producer = AIOKafkaProducer(
        bootstrap_servers=site.bootstrap, **{"enable_idempotence": True, "max_batch_size": 512 * 1024, **options}
    )
    await producer.start()
    sent: list[Sent] = []
    iterator = iter(records)
    try:
        while chunk := list(islice(iterator, CHUNK)):
            sent += await publish_with(producer, site, chunk, choose)
    finally:
        await producer.stop()
    return sent


async def publish_with(
    producer: AIOKafkaProducer, site: Site, records: Sequence[Published], choose: Choose
) -> list[Sent]:
    """Publish a few records through a producer, batch by batch, and return once everything is acknowledged."""
    places: dict[tuple[str, int], list[Published]] = {}
    for record in records:
        places.setdefault((site.topic(record.topic), choose(record)), []).append(record)
    batches: list[tuple[str, int, list[Published], Any]] = []
    for (topic, partition), queue in places.items():
        taken: list[Published] = []
        batch = producer.create_batch()
        for record in queue:
            if not _append(batch, record):
                batches.append((topic, partition, taken, await producer.send_batch(batch, topic, partition=partition)))
                taken, batch = [], producer.create_batch()
                assert _append(batch, record), "a record larger than a batch"
            taken.append(record)
        batches.append((topic, partition, taken, await producer.send_batch(batch, topic, partition=partition)))
    sent = []
    for topic, partition, taken, future in batches:
        base = (await future).offset
        sent += [Sent(record, Source(topic, partition, base + index)) for index, record in enumerate(taken)]
    return sent


def _append(batch: Any, record: Published) -> bool:
    appended = batch.append(
        timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=[*record.headers]
    )
    return appended is not None
