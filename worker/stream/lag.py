"""How far the group is behind its inputs, by Kafka alone."""

from collections.abc import Mapping, Sequence

from worker.stream.offsets import Offsets
from worker.tables.tables import Partition


async def group_lag(topics: Sequence[str], offsets: Offsets) -> Mapping[Partition, int]:
    """Return how many records of each partition of these topics the group has not committed, whoever owns it.

    One of which nothing is committed yet counts from the beginning of its log.
    """
    found = await offsets.partitions(topics)
    partitions = [partition for part in found.values() for partition in part]
    # Read before the ends, for both only grow.
    committed = await offsets.committed()
    begins = await offsets.begins([partition for partition in partitions if partition not in committed])
    ends = await offsets.ends(partitions)
    reached = {**begins, **committed}
    return {partition: max(0, ends[partition] - reached[partition]) for partition in partitions}
