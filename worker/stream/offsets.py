"""What Kafka says of the inputs: where each log begins and ends, and what the group has committed."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from worker.settings import Settings
from worker.stream.kafka import kafka_client_options
from worker.tables.tables import Partition


class Offsets:
    """A reader of offsets that is in no group and consumes nothing."""

    def __init__(self, settings: Settings) -> None:
        self._group = settings.group
        self._options = kafka_client_options(settings)
        self._consumer: Any = None
        self._admin: Any = None

    async def start(self) -> None:
        """Connect; raises a KafkaError where that fails, and may be called again then."""
        # So that a log ends where whoever leaves out open and aborted transactions can read to.
        consumer = AIOKafkaConsumer(**self._options, isolation_level="read_committed")
        admin = AIOKafkaAdminClient(**self._options)
        try:
            await consumer.start()
            await admin.start()
        except BaseException:
            await consumer.stop()
            await admin.close()
            raise
        self._consumer, self._admin = consumer, admin

    async def stop(self) -> None:
        """Disconnect, where a start was completed."""
        consumer, admin, self._consumer, self._admin = self._consumer, self._admin, None, None
        if consumer is not None:
            await consumer.stop()
            await admin.close()

    async def partitions(self, topics: Sequence[str]) -> dict[str, list[Partition]]:
        """Return the partitions of those of the topics that exist."""
        found: list[dict[str, Any]] = await self._admin.describe_topics(list(topics))
        return {
            topic["topic"]: [Partition(topic["topic"], part["partition"]) for part in topic["partitions"]]
            for topic in found
            if topic["error_code"] == 0
        }

    async def committed(self) -> Mapping[Partition, int]:
        """Return the next offset of every partition that the group has committed."""
        offsets = await self._admin.list_consumer_group_offsets(self._group)
        return {Partition(tp.topic, tp.partition): meta.offset for tp, meta in offsets.items() if meta.offset >= 0}

    async def begins(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return the first offset that each log still has."""
        offsets = await self._consumer.beginning_offsets([TopicPartition(*name) for name in partitions])
        return {Partition(tp.topic, tp.partition): offset for tp, offset in offsets.items()}

    async def ends(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return the offset up to which each log can be read now; beyond it are transactions that are still open."""
        offsets = await self._consumer.end_offsets([TopicPartition(*name) for name in partitions])
        return {Partition(tp.topic, tp.partition): offset for tp, offset in offsets.items()}
