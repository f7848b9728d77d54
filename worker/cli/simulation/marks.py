"""Marks by which simulated records are known again: who simulates into topics asks first if there is anything else."""

import time
from collections import Counter
from typing import Any, Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.settings import Settings
from worker.stream.existing import partitions_of, refuse_missing
from worker.stream.inputs import INPUTS
from worker.stream.kafka import KafkaAwayError, kafka_client_options
from worker.stream.topic_admin import topic_admin

MARK: Final = "simulated"
"""A header of every simulated record: how many were simulated into its partition before it.

That is its offset where nobody else has ever written. Where others have, counting begins with 0, and never is.
"""
_SILENCE_S: Final = 30.0


class Marks(NamedTuple):
    """The next mark of every place (topic without prefix, partition); `others` is where others have written, if so."""

    next: Counter[tuple[str, int]]
    others: str | None

    def header(self, topic: str, partition: int) -> tuple[str, bytes]:
        """Return the mark of the record that is written there next."""
        number = self.next[topic, partition]
        self.next[topic, partition] += 1
        return MARK, b"%d" % number


async def find_marks(settings: Settings) -> Marks:
    """Look at the newest record of every partition of the input topics.

    Raises SettingsError where a topic is missing, and KafkaAwayError where no broker answers.
    """
    places = await _places(settings)
    consumer = AIOKafkaConsumer(
        **kafka_client_options(settings), enable_auto_commit=False, auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        ends = await consumer.end_offsets([*places])
        newest = await _newest(consumer, {partition: end for partition, end in ends.items() if end > 0})
    finally:
        await consumer.stop()
    found: Counter[tuple[str, int]] = Counter()
    others = None
    for partition, place in places.items():
        if ends[partition] == 0 or _is_alone(newest.get(partition)):
            found[place] = ends[partition]
        else:
            others = others or f"{partition.topic}/{partition.partition}"
    return Marks(found, others)


async def _places(settings: Settings) -> dict[TopicPartition, tuple[str, int]]:
    names = {topic: settings.topic(topic) for topic in INPUTS}
    async with topic_admin(settings) as admin:
        found = await partitions_of(admin, names.values())
    refuse_missing(settings, names.values(), found)
    return {TopicPartition(name, number): (topic, number) for topic, name in names.items() for number in found[name]}


async def _newest(consumer: Any, ends: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
    """Return the last record of partitions that have had some; none for one that ends in something else."""
    newest: dict[TopicPartition, Any] = {}
    consumer.assign([*ends])
    for partition, end in ends.items():
        consumer.seek(partition, end - 1)
    heard_at = time.monotonic()
    left = {*ends}
    while left:
        for partition, records in (await consumer.getmany(*left, timeout_ms=200)).items():
            heard_at = time.monotonic()
            if before := [record for record in records if record.offset < ends[partition]]:
                newest[partition] = before[-1]
        left = {partition for partition in left if await consumer.position(partition) < ends[partition]}
        if time.monotonic() - heard_at > _SILENCE_S:
            raise KafkaAwayError(f"Kafka has not answered for {_SILENCE_S:.0f} s.")
    return newest


def _is_alone(newest: Any) -> bool:
    """Return whether the newest record of a partition says that all before it is simulated too."""
    return newest is not None and dict(newest.headers).get(MARK) == b"%d" % newest.offset
