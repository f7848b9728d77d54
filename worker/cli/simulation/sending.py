"""Sends what was simulated to Kafka: the only module here that does I/O."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import murmur2

from worker.cli.simulation.marks import Marks, TopicMissingError
from worker.cli.simulation.scenario import Published
from worker.ratings.delivery import Header
from worker.settings import Settings
from worker.stream.inputs import INPUTS
from worker.stream.kafka import kafka_client_options

_CHUNK = 4000
"""Records that go out together, so that no partition runs further ahead of the others than that."""
_CHUNKS_IN_FLIGHT = 2
_TICK_S = 0.02
_BATCH_BYTES = 512 * 1024


def now_ms() -> int:
    """Return the clock's instant, UTC milliseconds."""
    return time.time_ns() // 1_000_000


async def send(
    records: Iterable[Published],
    settings: Settings,
    *,
    paced: bool = False,
    sent: Callable[[Sequence[Published]], None] = lambda _: None,
    marks: Marks | None = None,
) -> None:
    """Publish the records in order, with their timestamps, and return when the brokers have acknowledged them all.

    `paced` holds each record back until the clock has reached its timestamp; `sent` is told of each acknowledged
    chunk; with `marks`, every record carries one. Raises TopicMissingError and what aiokafka raises: what was
    acknowledged by then stays published.
    """
    producer = AIOKafkaProducer(
        **kafka_client_options(settings), enable_idempotence=True, max_batch_size=_BATCH_BYTES, linger_ms=0
    )
    try:
        await producer.start()
        outlet = _Outlet(producer, settings, sent, marks)
        await outlet.find_topics()
        try:
            async for chunk in _due(records) if paced else _full(records):
                await outlet.send(chunk)
        except asyncio.CancelledError:
            await outlet.drain()
            raise
        await outlet.drain()
    finally:
        await producer.stop()


async def _full(records: Iterable[Published]) -> AsyncIterator[list[Published]]:
    iterator = iter(records)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


async def _due(records: Iterable[Published]) -> AsyncIterator[list[Published]]:
    """Yield records once their time has come, together with those that came due within the same tick."""
    chunk: list[Published] = []
    for record in records:
        while (ahead_ms := record.timestamp_ms - now_ms()) > 0:
            if chunk:
                yield chunk
                chunk = []
            await asyncio.sleep(max(ahead_ms / 1000, _TICK_S))
        chunk.append(record)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@lru_cache(maxsize=65_536)
def _hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFF_FFFF


class _Outlet:
    """One batch a partition and chunk, and a few chunks in flight."""

    def __init__(
        self,
        producer: AIOKafkaProducer,
        settings: Settings,
        sent: Callable[[Sequence[Published]], None],
        marks: Marks | None,
    ) -> None:
        self._producer = producer
        self._names = {topic: settings.topic(topic) for topic in INPUTS}
        self._partitions: dict[str, int] = {}
        self._sent = sent
        self._marks = marks
        self._in_flight: deque[tuple[list[Published], list[Any]]] = deque()

    async def find_topics(self) -> None:
        # All topics, for asking for one that is absent makes a broker with auto.create.topics.enable create it.
        cluster = await self._producer.client.fetch_all_metadata()
        for topic, name in self._names.items():
            partitions = cluster.partitions_for_topic(name)
            if not partitions:
                raise TopicMissingError(
                    f"The topic {name} does not exist: create it with `gammon-ratings topics apply`, "
                    "or see to RATINGS_TOPIC_PREFIX."
                )
            self._partitions[topic] = len(partitions)

    async def send(self, chunk: list[Published]) -> None:
        batches: dict[tuple[str, int], list[Any]] = {}
        for record in chunk:
            place = record.topic, _hash(record.key) % self._partitions[record.topic]
            headers = [*record.headers] if self._marks is None else [*record.headers, self._marks.header(*place)]
            built = batches.setdefault(place, [])
            if not built or not _append(built[-1], record, headers):
                built.append(self._producer.create_batch())
                _append(built[-1], record, headers)
        futures = [
            await self._producer.send_batch(batch, self._names[topic], partition=partition)
            for (topic, partition), built in batches.items()
            for batch in built
        ]
        self._in_flight.append((chunk, futures))
        await self.drain(_CHUNKS_IN_FLIGHT)

    async def drain(self, left: int = 0) -> None:
        """Wait until no more than `left` chunks are unacknowledged."""
        while len(self._in_flight) > left:
            chunk, futures = self._in_flight[0]
            # Not gather, which would cancel the futures with us and leave nothing to drain.
            await asyncio.wait(futures)
            for future in futures:
                future.result()
            self._in_flight.popleft()
            self._sent(chunk)


def _append(batch: Any, record: Published, headers: list[Header]) -> bool:
    appended = batch.append(timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=headers)
    return appended is not None
