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
    """What a batch takes of one partition: all from offset `begin` to before `end`.

    `timestamp_ms` is the newest record timestamp in UTC ms, 0 where there is no record.
    """

    begin: int
    end: int
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
    """One partition: what was delivered and is not yet taken whole, its events in order, and where taking goes on."""

    begin: int
    delivered: deque[PartitionBatch] = field(default_factory=deque)
    events: deque[Decoded] = field(default_factory=deque)


class Intake:
    """Where the agents leave their batches and the lane finds the next one.

    `put` holds an agent back while `most_waiting` events wait, so that memory stays bounded. Whatever is queued belongs
    to the assignment in force: behind a batch that was dropped, nothing of its partition may be taken.
    """

    def __init__(self, decoders: Mapping[str, Decoder], most_waiting: int) -> None:
        self._decoders = decoders
        self._most_waiting = most_waiting
        self._queues: dict[Partition, _Queue] = {}
        self._waiting = 0
        self._changed = asyncio.Condition()

    async def put(self, delivered: PartitionBatch) -> None:
        """Decode a delivered batch and let it wait for its turn; discard it if its assignment ends before that."""
        decoder = self._decoders[delivered.topic]
        async with self._changed:
            await self._changed.wait_for(lambda: self._has_room(delivered) or not delivered.is_current())
            if not delivered.is_current():
                delivered.discard()
                return
            queue = self._queues.setdefault(_partition(delivered), _Queue(delivered.begin))
            if not queue.delivered:
                queue.begin = delivered.begin
            queue.delivered.append(delivered)
            queue.events.extend([decoder.decode(as_delivery(record)) for record in delivered.records])
            self._waiting += len(delivered.records)
            self._changed.notify_all()

    async def next_batch(self, most: int, *, wait: bool = True) -> Batch | None:
        """Return what waits, up to `most` events; without `wait` None if there is nothing, else as soon as there is.

        A batch without events says only how far partitions were read in which there was nothing for us.
        """
        async with self._changed:
            if not wait and not self._anything_waits():
                return None
            await self._changed.wait_for(self._anything_waits)
            batch = self._merge(most)
            self._waiting -= len(batch.events)
            self._changed.notify_all()
            return batch

    async def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget what waits of partitions that were given away; whoever has them now reads it again."""
        async with self._changed:
            for partition in partitions:
                queue = self._queues.pop(partition, _Queue(0))
                self._waiting -= len(queue.events)
                for delivered in queue.delivered:
                    delivered.discard()
            self._changed.notify_all()

    def _has_room(self, delivered: PartitionBatch) -> bool:
        """Return whether a batch may be queued; one with a gap before it only once it begins a batch of the lane."""
        queue = self._queues.get(_partition(delivered))
        follows = queue is None or not queue.delivered or queue.delivered[-1].end == delivered.begin
        return follows and self._waiting < self._most_waiting

    def _anything_waits(self) -> bool:
        return any(queue.delivered for queue in self._queues.values())

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
        reached: dict[Partition, Reached] = {}
        complete: list[PartitionBatch] = []
        for partition, queue in self._queues.items():
            if queue.delivered:
                begin, whole = queue.begin, _whole(queue)
                queue.begin = _next_offset(queue, whole, taken[partition])
                if queue.begin > begin:
                    newest_ms = max((delivery.timestamp_ms for delivery in taken[partition]), default=0)
                    reached[partition] = Reached(begin, queue.begin, newest_ms)
                complete += whole
        return Batch(events, by_pool, reached, [delivered.acknowledge for delivered in complete])


def _partition(delivered: PartitionBatch) -> Partition:
    return Partition(delivered.topic, delivered.partition)


def _whole(queue: _Queue) -> list[PartitionBatch]:
    """Take out what was delivered and of which no event waits any more."""
    whole = []
    while queue.delivered and (not queue.events or queue.events[0].delivery.source.offset >= queue.delivered[0].end):
        whole.append(queue.delivered.popleft())
    return whole


def _next_offset(queue: _Queue, whole: Sequence[PartitionBatch], taken: Sequence[Delivery]) -> int:
    """Return where taking goes on: behind the last event taken, and behind what was delivered whole."""
    after_events = taken[-1].source.offset + 1 if taken else queue.begin
    return max(after_events, whole[-1].end if whole else queue.begin)


def _instant(event: Decoded) -> int:
    """Return what a head is merged by; an instant from the future must not hold its partition back."""
    return min(event.instant_ms, event.delivery.timestamp_ms)


def as_delivery(record: ConsumerRecord) -> Delivery:
    """Return what Kafka's client read as a delivery."""
    source = Source(record.topic, record.partition, record.offset)
    return Delivery(source, record.timestamp, record.key, record.value, record.headers)
