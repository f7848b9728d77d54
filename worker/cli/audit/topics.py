"""The records of some topics, from where they begin to wherever they end, each partition's in order."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.settings import Settings, SettingsError
from worker.stream.kafka import kafka_client_options
from worker.stream.topic_admin import KafkaAwayError, topic_admin
from worker.stream.unreadable import stand_in_for_unreadable

_PARTITION_BYTES: Final = 2 * 1024 * 1024
"""Most that is fetched of a partition at once."""
_AHEAD: Final = 20_000
"""Positions by which one partition may be read ahead of another that is not read to its end."""
_SILENCE_S: Final = 60.0


class Topics:
    """Topics that are read in one go or, as they grow, in several."""

    def __init__(self, consumer: Any, partitions: Mapping[str, Sequence[TopicPartition]], bootstrap: str) -> None:
        self._consumer = consumer
        self._partitions = partitions
        self._bootstrap = bootstrap
        self.heads: dict[tuple[str, int], int] = {}
        """By topic and partition, the position at which it has been read, where somebody notes it."""

    async def ends(self, *names: str) -> dict[TopicPartition, int]:
        """Return the offset after the last committed record of every partition of these topics."""
        wanted = [partition for name in names for partition in self._partitions[name]]
        found: dict[TopicPartition, int] = await self._consumer.end_offsets(wanted)
        return found

    async def left(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return how many records there are at most up to these ends."""
        return sum([max(0, end - await self._consumer.position(partition)) for partition, end in ends.items()])

    async def read(self, ends: Mapping[TopicPartition, int]) -> AsyncIterator[list[Any]]:
        """Yield records of one partition at a time, in order, until all are read to these ends, and none beyond.

        What came since the ends were asked for may rest on what nobody has read yet. Raises KafkaAwayError where
        nothing comes for a minute.
        """
        open_until = dict(ends)
        heard_at = time.monotonic()
        while True:
            for partition, end in list(open_until.items()):
                if await self._consumer.position(partition) >= end:
                    del open_until[partition]
            if not open_until:
                return
            found = await self._consumer.getmany(*self._behind(open_until), timeout_ms=500)
            for partition, records in found.items():
                heard_at = time.monotonic()
                if records[-1].offset >= ends[partition]:
                    self._consumer.seek(partition, ends[partition])
                if before := [record for record in records if record.offset < ends[partition]]:
                    yield before
            if time.monotonic() - heard_at > _SILENCE_S:
                raise KafkaAwayError(f"Kafka at {self._bootstrap} has not answered for {_SILENCE_S:.0f} s.")

    def _behind(self, partitions: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        """Return the partitions that are not far ahead of the others, so that little has to be kept for later."""
        heads = {partition: self.heads.get(tuple(partition), 0) for partition in partitions}
        lowest = min(heads.values())
        return [partition for partition, head in heads.items() if head <= lowest + _AHEAD]


@asynccontextmanager
async def open_topics(settings: Settings, names: Sequence[str]) -> AsyncIterator[Topics]:
    """Give these topics, by their names without prefix, to read from the beginning.

    Raises SettingsError where one is missing, and KafkaAwayError where no broker answers.
    """
    partitions = await _partitions(settings, names)
    stand_in_for_unreadable()
    consumer = AIOKafkaConsumer(
        **kafka_client_options(settings),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_partition_fetch_bytes=_PARTITION_BYTES,
    )
    try:
        await consumer.start()
        consumer.assign([partition for name in names for partition in partitions[name]])
        yield Topics(consumer, partitions, settings.kafka_bootstrap)
    finally:
        await consumer.stop()


async def _partitions(settings: Settings, names: Sequence[str]) -> dict[str, list[TopicPartition]]:
    async with topic_admin(settings) as admin:
        # All of them, for asking for one that is absent makes a broker with auto.create.topics.enable create it.
        found = {topic["topic"]: topic["partitions"] for topic in await admin.describe_topics()}
    if missing := [settings.topic(name) for name in names if settings.topic(name) not in found]:
        raise SettingsError(
            f"RATINGS_KAFKA_BOOTSTRAP, RATINGS_TOPIC_PREFIX: no topic {', '.join(missing)} at "
            f"{settings.kafka_bootstrap}: create what is missing with `gammon-ratings topics apply`."
        )
    return {
        name: [TopicPartition(settings.topic(name), part["partition"]) for part in found[settings.topic(name)]]
        for name in names
    }
