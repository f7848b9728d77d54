"""Publishing: whole batches a partition, in order, each confirmed by all replicas before anything is settled."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.partitioner import murmur2

from worker.ratings.wire import Message, without_body
from worker.settings import Settings
from worker.stream.kafka import kafka_client_options

log = structlog.get_logger()

BATCH_BYTES = 512 * 1024
CACHED_KEY_BYTES = 1024
"""Keys of events are shorter; those of dead letters are as they came, and may be of a mebibyte each."""
REQUEST_TIMEOUT_MS = 30_000
STOP_S = 5.0

Lane = tuple[str, int]
"""Topic and partition."""


class PublishError(Exception):
    """Kafka refused a record; nothing that comes after it may be published before all of it is tried again."""


class Publisher:
    """Sends messages to the partitions that Kafka's default partitioner gives their keys.

    The producer is idempotent, so it repeats what a broker that is away did not confirm for as long as it takes, in
    order and without doubling; how long to wait for that is the caller's to say, by cancelling.
    """

    def __init__(self, settings: Settings) -> None:
        self._options = kafka_client_options(settings)
        self._producer: Any = None
        self._broken = False
        self._unkeyed = 0
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        """Connect; raises a KafkaError where that fails, and may be called again then."""
        producer = AIOKafkaProducer(
            **self._options,
            acks="all",
            enable_idempotence=True,
            max_batch_size=BATCH_BYTES,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer

    async def stop(self) -> None:
        """Disconnect, waiting a few seconds at most for what is under way."""
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                await asyncio.wait_for(producer.stop(), STOP_S)
            except (KafkaError, TimeoutError) as error:
                log.warning("producer did not stop in good order", error=repr(error))

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish all, in order for each partition, and return when Kafka has confirmed every one.

        A dead letter that is too large for its topic goes without its body. Raises PublishError for any other refusal;
        then all of it has to be published again.
        """
        async with self._one_at_a_time:
            await self._publish(messages)

    async def _publish(self, messages: Sequence[Message]) -> None:
        if self._broken:
            await self._restart()
        self._broken = True  # until all is confirmed: whatever ends this early leaves a hole in the producer's sequence
        lanes = await self._by_partition(messages)
        sends = (self._send(lane, queue) for lane, queue in lanes.items())
        results = await asyncio.gather(*sends, return_exceptions=True)
        for (lane, queue), result in zip(lanes.items(), results, strict=True):
            if isinstance(result, MessageSizeTooLargeError) and lane[0].endswith(".dlt"):
                await self._send_what_fits(lane, queue)
            elif isinstance(result, KafkaError):
                raise PublishError(f"Kafka did not take a record for {lane[0]}/{lane[1]}: {result!r}") from result
            elif isinstance(result, BaseException):
                raise result
        self._broken = False

    async def _restart(self) -> None:
        """Start over with a new producer: a refused batch leaves a hole in the old one's sequence."""
        await self.stop()
        await self.start()

    async def _by_partition(self, messages: Sequence[Message]) -> dict[Lane, list[Message]]:
        counts: dict[str, int] = {}
        lanes: dict[Lane, list[Message]] = defaultdict(list)
        for message in messages:
            topic = message.topic
            if topic not in counts:
                counts[topic] = len(await self._producer.partitions_for(topic))
            lanes[topic, self._hash(message.key) % counts[topic]].append(message)
        return lanes

    def _hash(self, key: bytes | None) -> int:
        if key is not None:
            return _murmur2(key) if len(key) <= CACHED_KEY_BYTES else _murmur2.__wrapped__(key)
        self._unkeyed += 1
        return self._unkeyed

    async def _send(self, lane: Lane, messages: Sequence[Message]) -> None:
        batch = self._producer.create_batch()
        for message in messages:
            if not _append(batch, message):
                await self._confirm(lane, batch)
                batch = self._producer.create_batch()
                _append(batch, message)
        await self._confirm(lane, batch)

    async def _confirm(self, lane: Lane, batch: Any) -> None:
        topic, partition = lane
        await (await self._producer.send_batch(batch, topic, partition=partition))

    async def _send_what_fits(self, lane: Lane, messages: Sequence[Message]) -> None:
        await self._restart()
        for message in messages:
            try:
                await self._send(lane, [message])
            except MessageSizeTooLargeError:
                letter = without_body(message)
                log.warning("dead letter too large, goes without its body", topic=lane[0], headers=letter.headers)
                await self._restart()
                await self._send(lane, [letter])


def _append(batch: Any, message: Message) -> bool:
    taken = batch.append(key=message.key, value=message.value, timestamp=None, headers=message.headers)
    return taken is not None


@lru_cache(maxsize=200_000)
def _murmur2(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF
