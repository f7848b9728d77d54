"""How far an audit reads its topics."""

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka import TopicPartition

from tests.cli.audit.season import Record
from worker.cli.audit.topics import Topics

CHANGED = TopicPartition("rating-changed", 0)


class Consumer:
    """Gives all that a partition has got by now, as a fetch does, wherever it ended when somebody asked."""

    def __init__(self) -> None:
        self.there = 0
        self.at = 0

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.there)

    async def position(self, _: TopicPartition) -> int:
        return self.at

    def seek(self, _: TopicPartition, offset: int) -> None:
        self.at = offset

    async def getmany(self, *_: TopicPartition, timeout_ms: int) -> Mapping[TopicPartition, list[Record]]:
        del timeout_ms
        begin, self.at = self.at, self.there
        found = [Record(CHANGED.topic, 0, offset, 0, None, None) for offset in range(begin, self.there)]
        return {CHANGED: found} if found else {}


async def read(topics: Topics, ends: Mapping[TopicPartition, int]) -> list[int]:
    return [record.offset async for records in topics.read(ends) for record in records]


def test_what_came_since_the_ends_were_asked_for_is_left_for_the_next_time() -> None:
    async def twice() -> tuple[list[int], list[int]]:
        consumer = Consumer()
        topics = Topics(consumer, {"rating-changed": [CHANGED]}, "nowhere")
        consumer.there = 3
        ends = await topics.ends("rating-changed")
        consumer.there = 5
        return await read(topics, ends), await read(topics, await topics.ends("rating-changed"))

    assert asyncio.run(twice()) == ([0, 1, 2], [3, 4])


def test_nothing_is_read_where_all_has_been() -> None:
    async def again() -> list[int]:
        consumer = Consumer()
        topics = Topics(consumer, {"rating-changed": [CHANGED]}, "nowhere")
        consumer.there = consumer.at = 2
        ends = await topics.ends("rating-changed")
        consumer.there = 4
        return await read(topics, ends)

    assert asyncio.run(again()) == []
