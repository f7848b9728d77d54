"""What was taken from Kafka and waits for its batch: in order within a partition, by the events' instants across."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from aiokafka import ConsumerRecord

from worker.ratings.delivery import Delivery, Source
from worker.stream.app import PartitionBatch
from worker.stream.decode import Decoded, Decoder
from worker.tables.tables import UNPOOLED, Partition


class Reached(NamedTuple):
    """What a batch takes of one partition: first and next offset, and the newest record timestamp in UTC ms."""

    first: int
    offset: int
    timestamp_ms: int


class Batch(NamedTuple):
    """Events to apply together, and the same `by_pool` (UNPOOLED where they name none of ours).

    `acknowledgements` are of what Kafka delivered and ends with this batch.
    """

    events: Sequence[Decoded]
    by_pool: Mapping[str, Sequence[Decoded]]
    reached: Mapping[Partition, Reached]
    acknowledgements: Sequence[Callable[[], Awaitable[None]]]


@dataclass(slots=True)
class _Queue:
    """One partition: decoded events in order, and after which offset each delivered batch is complete."""

    events: deque[Decoded] = field(default_factory=deque)
    ends: deque[tuple[int, PartitionBatch]] = field(default_factory=deque)


class Intake:
    """Where the agents leave their batches and the lane finds the next one.

    `put` holds an agent back while `most_waiting` events wait, so that memory stays bounded.
    """

    def __init__(self, decoders: Mapping[str, Decoder], most_waiting: int) -> None:
        self._decoders = decoders
        self._most_waiting = most_waiting
        self._queues: dict[Partition, _Queue] = {}
        self._waiting = 0
        self._changed = asyncio.Condition()

    async def put(self, delivered: PartitionBatch) -> None:
        """Decode a delivered batch and let it wait for its turn."""
        decoder = self._decoders[delivered.topic]
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting < self._most_waiting)
            queue = self._queues.setdefault(Partition(delivered.topic, delivered.partition), _Queue())
            queue.events.extend([decoder.decode(as_delivery(record)) for record in delivered.records])
            queue.ends.append((delivered.records[-1].offset, delivered))
            self._waiting += len(delivered.records)
            self._changed.notify_all()

    async def next_batch(self, most: int, *, wait: bool = True) -> Batch | None:
        """Return what waits, up to `most` events; without `wait` None if there is nothing, else as soon as there is."""
        async with self._changed:
            if not wait and not self._waiting:
                return None
            await self._changed.wait_for(lambda: self._waiting > 0)
            batch = self._merge(most)
            self._waiting -= len(batch.events)
            self._changed.notify_all()
            return batch

    async def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget what waits of partitions that were given away; whoever has them now reads it again."""
        async with self._changed:
            for partition in partitions:
                queue = self._queues.pop(partition, _Queue())
                self._waiting -= len(queue.events)
                for _, delivered in queue.ends:
                    delivered.discard()
            self._changed.notify_all()

    def _merge(self, most: int) -> Batch:
        """Take the heads of all partitions by their instants; within a partition the order stays as it is."""
        heads = [(_instant(queue.events[0]), partition) for partition, queue in self._queues.items() if queue.events]
        heapify(heads)
        events: list[Decoded] = []
        by_pool: dict[str, list[Decoded]] = defaultdict(list)
        taken: dict[Partition, list[Delivery]] = defaultdict(list)
        while heads and len(events) < most:
            partition = heads[0][1]
            waiting = self._queues[partition].events
            event = waiting.popleft()
            events.append(event)
            by_pool[event.pool or UNPOOLED].append(event)
            taken[partition].append(event.delivery)
            if waiting:
                heapreplace(heads, (_instant(waiting[0]), partition))
            else:
                heappop(heads)
        reached = {partition: _reached(deliveries) for partition, deliveries in taken.items()}
        return Batch(events, by_pool, reached, self._complete(reached))

    def _complete(self, reached: Mapping[Partition, Reached]) -> list[Callable[[], Awaitable[None]]]:
        complete = []
        for partition, (_, offset, _) in reached.items():
            ends = self._queues[partition].ends
            while ends and ends[0][0] < offset:
                complete.append(ends.popleft()[1].acknowledge)
        return complete


def _reached(deliveries: Sequence[Delivery]) -> Reached:
    newest_ms = max(delivery.timestamp_ms for delivery in deliveries)
    return Reached(deliveries[0].source.offset, deliveries[-1].source.offset + 1, newest_ms)


def _instant(event: Decoded) -> int:
    """Return what a head is merged by; an instant from the future must not hold its partition back."""
    return min(event.instant_ms, event.delivery.timestamp_ms)


def as_delivery(record: ConsumerRecord) -> Delivery:
    """Return what Kafka's client read as a delivery."""
    source = Source(record.topic, record.partition, record.offset)
    return Delivery(source, record.timestamp, record.key, record.value, record.headers)
