"""The group's lag, from what Kafka says."""

import asyncio

from worker.stream.lag import group_lag
from worker.tables.tables import Partition

A, B, C = (Partition("match-finished", number) for number in range(3))
OTHER = Partition("rating-changed", 0)


class Log:
    """A Kafka in which records are written and committed while it is asked."""

    def __init__(self, begins, ends, committed):
        self._begins, self._ends, self._committed = begins, ends, committed

    def _goes_on(self):
        self._ends = {partition: end + 1 for partition, end in self._ends.items()}
        self._committed = {partition: offset + 1 for partition, offset in self._committed.items()}

    async def partitions(self, topics):
        return {topic: [partition for partition in self._ends if partition.topic == topic] for topic in topics}

    async def committed(self):
        found = self._committed
        self._goes_on()
        return found

    async def begins(self, partitions):
        return {partition: self._begins[partition] for partition in partitions}

    async def ends(self, partitions):
        return {partition: self._ends[partition] for partition in partitions}


def lag(**log):
    return asyncio.run(group_lag(["match-finished"], Log(**log)))


def test_it_is_what_the_group_has_not_committed_of_every_partition():
    found = lag(begins={A: 0, B: 0, C: 40}, ends={A: 9, B: 9, C: 49}, committed={A: 0, B: 10})
    # one record is written to each while this is asked
    assert found == {A: 10, B: 0, C: 10}


def test_it_is_never_negative_and_leaves_out_other_topics():
    found = lag(begins={A: 0}, ends={A: 7, OTHER: 5}, committed={A: 8, OTHER: 1})
    assert found == {A: 0}
