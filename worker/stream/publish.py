"""Publishing: whole batches a partition, in order, each acknowledged by all replicas before anything is settled."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2

from worker.ratings.wire import Message
from worker.settings import Settings
from worker.stream.kafka import kafka_client_options

log = structlog.get_logger()

BATCH_BYTES = 512 * 1024
MAX_REQUEST_BYTES = 4 * 1024 * 1024
REQUEST_TIMEOUT_MS = 40_000


class PublishError(Exception):
    """A record could not be published for good; what comes after it must not be."""


class Publisher:
    """Sends messages to the partitions that Kafka's default partitioner gives their keys."""

    def __init__(self, settings: Settings) -> None:
        self._producer = AIOKafkaProducer(
            **kafka_client_options(settings),
            acks="all",
            enable_idempotence=True,
            max_batch_size=BATCH_BYTES,
            max_request_size=MAX_REQUEST_BYTES,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        self._unkeyed = 0

    async def start(self) -> None:
        """Connect; raises a KafkaError where that fails."""
        await self._producer.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._producer.stop()

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish all, in order for each partition, and return when Kafka has confirmed every one.

        Raises PublishError if one fails for good.
        """
        lanes: dict[tuple[str, int], list[Message]] = defaultdict(list)
        for message in messages:
            lanes[message.topic, await self._partition(message)].append(message)
        sent = [asyncio.ensure_future(self._send(*lane, queue)) for lane, queue in lanes.items()]
        try:
            await asyncio.gather(*sent)
        except KafkaError as error:
            raise PublishError(f"Kafka did not take a record: {error!r}") from error
        finally:
            for task in sent:
                task.cancel()

    async def _partition(self, message: Message) -> int:
        partitions = await self._producer.partitions_for(message.topic)
        if message.key is None:
            self._unkeyed += 1
            return self._unkeyed % len(partitions)
        return _hash(message.key) % len(partitions)

    async def _send(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        batch = self._producer.create_batch()
        pending: list[Any] = []
        for message in messages:
            if not _append(batch, message):
                pending.append(await self._producer.send_batch(batch, topic, partition=partition))
                batch = self._producer.create_batch()
                _append(batch, message)
        pending.append(await self._producer.send_batch(batch, topic, partition=partition))
        for future in pending:
            await future


def _append(batch: Any, message: Message) -> bool:
    taken = batch.append(key=message.key, value=message.value, timestamp=None, headers=message.headers)
    return taken is not None


@lru_cache(maxsize=200_000)
def _hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF
