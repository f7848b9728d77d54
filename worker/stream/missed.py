"""What a pool has missed while whoever read a partition did not know it: it was answered, as `unknown-pool`."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

import structlog

from worker.ratings.delivery import Source
from worker.ratings.wire import Message
from worker.tables.tables import UNPOOLED, Marker, Partition, PoolTables, Wanted

log = structlog.get_logger()

Publish = Callable[[Sequence[Message]], Awaitable[None]]


class Readers(Protocol):
    """Which pools the worker knew that was given a partition last."""

    async def readers(self) -> Mapping[Partition, frozenset[str]]:
        """Return the pools by partition; a partition that nobody was given yet is left out."""


async def catch_up(
    partitions: Collection[Partition], tables: Mapping[str, PoolTables], readers: Readers, publish: Publish
) -> None:
    """Move pools' markers over what was answered by workers that did not know them, in newly assigned partitions.

    What a pool had committed there before, and its worker died before it was published, is published first: a player's
    stream has no gap.
    """
    known = await readers.readers()
    answered = await tables[UNPOOLED].markers()
    for pool in tables.keys() - {UNPOOLED}:
        missed = [
            answered[partition]
            for partition in partitions
            if partition in answered and partition in known and pool not in known[partition]
        ]
        if missed:
            await _move(pool, tables[pool], missed, publish)


async def _move(pool: str, table: PoolTables, missed: Sequence[Marker], publish: Publish) -> None:
    own = await table.markers()
    behind = [
        marker for marker in missed if own.get(marker.partition, Marker(marker.partition, 0)).applied < marker.applied
    ]
    if not behind:
        return
    reached = {marker.partition: marker.applied for marker in behind}
    left = [source for source in await table.unsettled() if source.offset < reached.get(_partition(source), 0)]
    entries = (await table.load(Wanted(sources=left))).outbox if left else ()
    await publish([message for entry in entries for message in entry.messages])
    await table.settle(left, behind)
    log.info(
        "pool has missed events that were answered as unknown-pool while no worker here knew it",
        pool=pool,
        partitions=sorted(f"{partition.topic}/{partition.number}" for partition in reached),
        published=len(left),
    )


def _partition(source: Source) -> Partition:
    return Partition(source.topic, source.partition)
