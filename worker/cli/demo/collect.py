"""What came out: the output topics read from their beginning, and the ratings in Redis."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.cli.demo.audit import PlayerKey
from worker.cli.demo.tally import NO_POOL, Answers, Letter, count_answers, pool_named
from worker.ratings.wire import DLT_HEADERS
from worker.rules.pools import Pool
from worker.rules.ruleset import Rating
from worker.settings import Settings
from worker.stream.inputs import INPUTS
from worker.stream.kafka import kafka_client_options
from worker.stream.opening import open_tables
from worker.tables.connect import connect
from worker.tables.tables import PAGE_MAX, PoolTables, Wanted

_READ_S = 60.0
_FETCH_BYTES = 8 * 1024 * 1024
_AT_ONCE = 1000


async def answers(settings: Settings, pools: Collection[str], duplicates: Mapping[tuple[str, str], int]) -> Answers:
    """Read and count everything that was published; `duplicates` are those that the worker counted."""
    letter_topics = [settings.topic(f"{name}.dlt") for name in INPUTS]
    changed, excluded = settings.topic("rating-changed"), settings.topic("match-excluded")
    found = await _read(settings, [changed, excluded, *letter_topics])
    letters = [_letter(record, pools) for topic in letter_topics for record in found[topic]]
    return count_answers(
        [orjson.loads(record.value) for record in found[changed]],
        (orjson.loads(record.value) for record in found[excluded]),
        letters,
        duplicates,
    )


@asynccontextmanager
async def tables_of(settings: Settings, pools: Mapping[str, Pool]) -> AsyncIterator[dict[str, PoolTables]]:
    """Give the tables of every pool, to read."""
    client = connect(settings.redis_url.get_secret_value(), password=settings.redis_secret)
    try:
        yield open_tables(client, settings, pools)
    finally:
        await client.aclose()


async def ratings_of(tables: Mapping[str, PoolTables], players: Iterable[PlayerKey]) -> dict[PlayerKey, Rating]:
    """Return what Redis holds for these players, and for everyone on a leaderboard."""
    ids: dict[str, dict[str, None]] = {}
    for pool, player_id in players:
        ids.setdefault(pool, {})[player_id] = None
    ratings: dict[PlayerKey, Rating] = {}
    for pool, wanted in ids.items():
        listed = list(wanted)
        for first in range(0, len(listed), _AT_ONCE):
            loaded = await tables[pool].load(Wanted(players=listed[first : first + _AT_ONCE]))
            ratings |= {(pool, player_id): row.rating for player_id, row in loaded.rows.items()}
        first = 1
        while places := (await tables[pool].leaderboard(first, PAGE_MAX)).places:
            ratings |= {(pool, place.player_id): place.row.rating for place in places}
            first += len(places)
    return ratings


async def _read(settings: Settings, topics: Sequence[str]) -> dict[str, list[Any]]:
    """Return each topic's records, every partition's in order, up to where they end now."""
    consumer = AIOKafkaConsumer(
        **kafka_client_options(settings),
        enable_auto_commit=False,
        fetch_max_bytes=_FETCH_BYTES,
        max_partition_fetch_bytes=_FETCH_BYTES,
    )
    await consumer.start()
    try:
        cluster = await consumer._client.fetch_all_metadata()
        partitions = [
            TopicPartition(topic, number) for topic in topics for number in cluster.partitions_for_topic(topic) or ()
        ]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = {name: end for name, end in (await consumer.end_offsets(partitions)).items() if end > 0}
        found: dict[str, list[Any]] = {topic: [] for topic in topics}
        async with asyncio.timeout(_READ_S):
            while ends:
                for name, records in (await consumer.getmany(timeout_ms=500)).items():
                    found[name.topic] += records
                    if records[-1].offset + 1 >= ends[name]:
                        del ends[name]
        return found
    finally:
        await consumer.stop()


def _letter(record: Any, pools: Collection[str]) -> Letter:
    headers = {name: value.decode() for name, value in record.headers if name in DLT_HEADERS and value}
    pool = pool_named(record.value, NO_POOL)
    return Letter(
        headers["dlt-reason"],
        pool if pool in pools else NO_POOL,
        (headers["dlt-topic"], headers["dlt-partition"], headers["dlt-offset"]),
    )
