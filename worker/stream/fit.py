"""Whether state and log fit together, looked at before anything is rated on them."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from worker.stream.ending import CRASHED, DOES_NOT_FIT, Fatal
from worker.stream.offsets import Offsets
from worker.tables.tables import Marker, Partition, PoolTables

ADVICE = "Nothing was rated on it. See 'When state and log do not fit' in the README."


class Log(NamedTuple):
    """One input partition as Kafka has it; `committed` is None where the group has never committed."""

    begin: int
    end: int
    committed: int | None


def misfit(pool: str, partition: Partition, marker: Marker | None, log: Log) -> str | None:
    """Return in one sentence why a pool's state does not fit a partition's log, or None if it does.

    A partition without a marker is one that was added to the topic: its log must be whole, and nothing of it committed.
    """
    where = f"pool {pool}, {partition.topic}/{partition.number}"
    applied = marker.applied if marker is not None else 0
    if log.committed is not None and applied < log.committed:
        return (
            f"{where}: Redis has applied up to offset {applied}, but the group has committed {log.committed}, "
            "so Redis has lost writes."
        )
    if applied > log.end:
        return (
            f"{where}: Redis has applied up to offset {applied}, but the log ends at {log.end}, "
            "so the log has lost records or is another topic."
        )
    if log.begin > applied:
        return (
            f"{where}: the log begins at offset {log.begin}, but Redis has applied only up to {applied}, "
            "so the records between were deleted before they were rated."
        )
    return None


async def check_assignment(
    partitions: Collection[Partition], tables: Mapping[str, PoolTables], offsets: Offsets
) -> dict[str, dict[Partition, Marker]]:
    """Return each pool's markers of newly assigned partitions; one that was added to its topic begins at offset 0.

    Raises Fatal with exit code 3 where state and log do not fit.
    """
    # Markers only grow and never pass the log's end, so they are read after the commits and before the logs.
    committed = await offsets.committed()
    markers = {pool: await table.markers() for pool, table in tables.items()}
    begins, ends = await offsets.begins(list(partitions)), await offsets.ends(list(partitions))
    found: dict[str, dict[Partition, Marker]] = {pool: {} for pool in tables}
    for pool, table in tables.items():
        for partition in partitions:
            marker = markers[pool].get(partition)
            log = Log(begins[partition], ends[partition], committed.get(partition))
            if why := misfit(pool, partition, marker, log):
                raise Fatal(DOES_NOT_FIT, f"{why} {ADVICE}")
            found[pool][partition] = marker or Marker(partition, 0)
        await table.begin(list(found[pool].values()))
    return found


async def check_gap(partition: Partition, expected: int, begin: int, offsets: Offsets) -> None:
    """Raise Fatal for what was read from offset `begin` on although `expected` came next.

    The exit code is 3 if the records between were deleted before they were read; 1 if they are still there, and so
    will be read by whoever starts from what was committed.
    """
    log_begin = (await offsets.begins([partition]))[partition]
    gap = f"{partition.topic}/{partition.number}: offset {expected} comes next, but"
    if log_begin > expected:
        raise Fatal(
            DOES_NOT_FIT,
            f"{gap} the log now begins at {log_begin}, so the records between were deleted before they were rated. "
            f"{ADVICE}",
        )
    raise Fatal(
        CRASHED,
        f"{gap} {begin} was read. Nothing was rated on it, and nothing is lost: start the worker again, and it reads "
        "from there.",
    )
