"""What the topics hold, how far the workers are, and waiting for them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.group import LeaveGroupRequest

from tests.integration.support.site import INPUTS, Site
from tests.servers.process import PATIENCE_S
from worker.files import packaged
from worker.rules.pools import Pool, parse_pools
from worker.tables.connect import connect
from worker.tables.redis import RedisTables
from worker.tables.tables import UNPOOLED, Marker, Partition


def pools() -> dict[str, Pool]:
    """Return the packaged pools, which the workers use."""
    return parse_pools(packaged("deploy/pools.toml").read_text(encoding="utf-8"))


@contextlib.asynccontextmanager
async def admin(site: Site) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=site.bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def reader(site: Site) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=site.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=4 * 1024 * 1024,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def partitions_of(site: Site, *names: str) -> list[TopicPartition]:
    async with admin(site) as client:
        found = await client.describe_topics([site.topic(name) for name in names])
    return sorted(TopicPartition(topic["topic"], part["partition"]) for topic in found for part in topic["partitions"])


async def ends(site: Site, *names: str) -> dict[TopicPartition, int]:
    """Return the offset after the last record of every partition of these topics."""
    places = await partitions_of(site, *names)
    async with reader(site) as consumer:
        found: dict[TopicPartition, int] = await consumer.end_offsets(places)
        return found


def changes_published(site: Site) -> int:
    """Return how many records rating-changed holds."""
    return sum(asyncio.run(ends(site, "rating-changed")).values())


async def read_topic(site: Site, name: str) -> list[ConsumerRecord]:
    """Return the whole topic: partition by partition, each in its order."""
    places = await partitions_of(site, name)
    found: dict[TopicPartition, list[ConsumerRecord]] = {place: [] for place in places}
    async with reader(site) as consumer:
        consumer.assign(places)
        open_until = await consumer.end_offsets(places)
        deadline = time.monotonic() + PATIENCE_S
        while open_until:
            for place, end in list(open_until.items()):
                if await consumer.position(place) >= end:
                    del open_until[place]
            if not open_until:
                break
            assert time.monotonic() < deadline, f"reading {name}: {open_until}"
            for place, records in (await consumer.getmany(timeout_ms=200, max_records=5000)).items():
                found[place] += records
    return [record for place in places for record in found[place]]


async def until_published(site: Site, changes: int, *, within_s: float = PATIENCE_S) -> int:
    """Wait until rating-changed holds that many records, and return how many it holds by then."""
    places = await partitions_of(site, "rating-changed")
    deadline = time.monotonic() + within_s
    async with reader(site) as consumer:
        while True:
            count: int = sum((await consumer.end_offsets(places)).values())
            if count >= changes:
                return count
            assert time.monotonic() < deadline, f"waited {within_s:g} s for {changes} changes, there are {count}"
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def tables(site: Site, *names: str) -> AsyncIterator[dict[str, RedisTables]]:
    """Give the tables of these pools (all, and those of what belongs to none, if none is named)."""
    client = connect(site.redis_url)
    try:
        chosen = names or (*pools(), UNPOOLED)
        yield {name: RedisTables(client, site.namespace, name, "test") for name in chosen}
    finally:
        await client.aclose()


async def until_answered(
    site: Site,
    *,
    within_s: float = PATIENCE_S,
    of_pools: Sequence[str] = (),
) -> None:
    """Wait until all pools' (or these) markers have reached the end of every input and no outbox entry is left."""
    wanted = {Partition(*place): end for place, end in (await ends(site, *INPUTS)).items()}
    deadline = time.monotonic() + within_s
    async with tables(site, *of_pools) as all_tables:
        while True:
            behind = []
            for name, table in all_tables.items():
                markers = await table.markers()
                behind += [
                    f"pool {name} at {marker.applied} of {end} in {place.topic}/{place.number}"
                    for place, end in wanted.items()
                    if (marker := markers.get(place, Marker(place, 0))).applied < end
                ]
                if count := await table.outbox_size():
                    behind.append(f"pool {name} with {count} unsettled causes")
            if not behind:
                return
            dead = [worker.output[-3000:] for worker in site.workers if not worker.alive]
            assert any(worker.alive for worker in site.workers), f"no worker is left: {dead}"
            assert time.monotonic() < deadline, f"after {within_s:g} s: {behind}; ended workers: {dead}"
            await asyncio.sleep(0.05)


def wait_answered(site: Site, *, within_s: float = PATIENCE_S) -> None:
    asyncio.run(until_answered(site, within_s=within_s))


async def members(site: Site) -> set[str]:
    """Return the ids of the group's members."""
    async with admin(site) as client:
        (response,) = await client.describe_consumer_groups([site.group])
        return {member[0] for member in response.groups[0][5]}


async def forget(site: Site, gone: set[str]) -> None:
    """Take members out of the group, as Kafka does once they have been silent for the session timeout."""
    async with admin(site) as client:
        node = await client.find_coordinator(site.group)
        for member in gone:
            await client._send_request(LeaveGroupRequest(site.group, member), node)


async def committed(site: Site) -> dict[TopicPartition, int]:
    """Return the group's committed offsets."""
    async with admin(site) as client:
        found = await client.list_consumer_group_offsets(site.group)
    return {place: meta.offset for place, meta in found.items() if meta.offset >= 0}
