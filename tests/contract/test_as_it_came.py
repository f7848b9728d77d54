"""Keys, values, headers, timestamps and sizes of every kind come out of the whole way byte for byte."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.consumer import fetcher
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import SharedKafka, SharedRedis
from tests.contract.odd_records import (
    LARGEST_LETTER,
    SIZES,
    TOPIC,
    Odd,
    added_to,
    kept_of,
    odd_records,
)
from tests.contract.support import admin
from tests.integration.writing.traffic import decoded
from tests.ratings.ladder import POOLS, finished
from tests.stream.raw_batches import CODECS, Batch, Raw
from worker.ratings.delivery import Source
from worker.ratings.wire import DLT_BODY, Message
from worker.settings import Settings
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoded, Decoder
from worker.stream.intake import as_delivery
from worker.stream.publish import Publisher
from worker.stream.unreadable import Fetched
from worker.tables.connect import connect
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.redis import RedisTables
from worker.tables.tables import UNPOOLED, Marker, Partition, PoolTables

BASE = 7
NOTHING = Progress(0, {})
ANALYSES = Decoder(TOPIC, POOLS)
NULLS = [(b"h", None), (b"h", b""), (b"dlt-reason", None), (b"dlt-body", None), (b"", b"\xff")]
CODEC = st.sampled_from(sorted(CODECS))


class Worker:
    """One run of a worker on the tables of the pool and of what belongs to none."""

    def __init__(self, pools: dict[str, PoolTables], prefix: str = "") -> None:
        self._targets = [Target(name, POOLS.get(name), tables, prefix) for name, tables in pools.items()]
        self._unsettled: dict[str, list[Source]] = {name: [] for name in pools}

    async def take(self, events: Sequence[Decoded]) -> list[Message]:
        """Load, decide and commit; return what is to be published then."""
        messages = []
        for target in self._targets:
            own = [event for event in events if (event.pool or UNPOOLED) == target.name]
            if own:
                applied = await apply(target, own, NOTHING)
                messages += applied.messages
                self._unsettled[target.name] += applied.sources
        return messages

    async def settle(self, events: Sequence[Decoded]) -> None:
        """Settle what was published of these, and see that nothing is left."""
        end, newest_ms = events[-1].delivery.source.offset + 1, max(event.delivery.timestamp_ms for event in events)
        place = Partition(events[0].delivery.source.topic, 0)
        for target in self._targets:
            await target.tables.settle(self._unsettled[target.name], [Marker(place, end, newest_ms)])
            marker = (await target.tables.markers())[place]
            assert (marker.applied, marker.timestamp_ms) == (end, max(0, newest_ms))
            assert await target.tables.outbox_size() == 0


def in_memory() -> list[Worker]:
    stores = {name: MemoryStore() for name in ("blitzgammon", UNPOOLED)}
    return [Worker({name: MemoryTables(store, name, run) for name, store in stores.items()}) for run in "ab"]


def in_redis(client: Any, prefix: str = "") -> list[Worker]:
    namespace, names = f"t{secrets.token_hex(6)}", ("blitzgammon", UNPOOLED)
    return [Worker({name: RedisTables(client, namespace, name, run) for name in names}, prefix) for run in "ab"]


def fetched(odd: Sequence[Odd], codec: str, topic: str) -> list[Decoded]:
    """Return what is read and decoded of a batch of them."""
    first_ms = odd[0].timestamp_ms
    frames = [one.raw._replace(delta_ms=_int64(one.timestamp_ms - first_ms)).framed(at) for at, one in enumerate(odd)]
    newest_ms = max(one.timestamp_ms for one in odd)
    batch = Batch(frames, base=BASE, codec=codec, first_ms=first_ms, newest_ms=newest_ms).sealed()
    place = TopicPartition(topic, 0)
    reading = fetcher.PartitionRecords(place, Fetched(batch), [], BASE, None, None, True, fetcher.READ_COMMITTED)
    return [ANALYSES.decode(as_delivery(record)) for record in reading]


def _int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


async def answered(workers: Sequence[Worker], events: Sequence[Decoded], topic: str) -> dict[int, Message]:
    """Have the first worker commit and die before publishing; return the letters of the second one, by offset.

    Afterwards come the matches, and with them the letters of what was parked.
    """
    first, second = workers
    written = await first.take(events)
    assert sorted(await second.take(events), key=repr) == sorted(written, key=repr)
    await second.settle(events)
    matches = [finished("blitzgammon", f"m-{number}", "ann", "bob") for number in range(len(events))]
    sent = [decoded(match, Source(f"matches of {topic}", 0, at)) for at, match in enumerate(matches)]
    await first.take(sent)
    written += await second.take(sent)
    letters = [message for message in written if message.topic == f"{topic}.dlt"]
    by_offset = {int(dict(letter.headers)["dlt-offset"] or b""): letter for letter in letters}
    assert len(by_offset) == len(letters)
    return by_offset


def are_as_they_came(odd: Sequence[Odd], letters: Mapping[int, Any], topic: str, *, published: bool = False) -> None:
    assert sorted(letters) == list(range(BASE, BASE + len(odd)))
    for offset, one in enumerate(odd, BASE):
        letter, (key, value, headers) = letters[offset], kept_of(one)
        if published and len(value or b"") > LARGEST_LETTER:
            assert (letter.key, letter.value, dict(letter.headers)[DLT_BODY]) == (None, None, b"left out: too large")
            continue
        added = dict(letter.headers[len(headers) :])
        assert (letter.key, letter.value, list(letter.headers[: len(headers)])) == (key, value, headers)
        assert len(letter.headers) == len(headers) + len(added)
        assert added.pop("dlt-reason") in (b"not-json", b"schema", b"in-the-future", b"too-late", b"players-mismatch")
        assert added.pop("dlt-message").decode().isprintable()
        assert added == added_to(one, offset, topic)


@given(odd_records(), CODEC)
@example([Odd(Raw(b"{", None, NULLS), -1)], "none")
def test_through_tables_in_memory(odd: list[Odd], codec: str) -> None:
    letters = asyncio.run(answered(in_memory(), fetched(odd, codec, TOPIC), TOPIC))
    are_as_they_came(odd, letters, TOPIC)


class Broker:
    """A topic of dead letters: what is published to it comes back."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.topic = prefix + TOPIC
        self._letters = TopicPartition(f"{self.topic}.dlt", 0)
        self._publisher = Publisher(Settings(kafka_bootstrap=bootstrap))
        self._bootstrap = bootstrap

    async def start(self) -> None:
        limit = {"max.message.bytes": str(LARGEST_LETTER)}
        async with admin(self._bootstrap) as client:
            await client.create_topics([NewTopic(self._letters.topic, 1, 1, topic_configs=limit)])
        await self._publisher.start()
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, max_partition_fetch_bytes=4 * 1024 * 1024)
        await self._consumer.start()
        self._consumer.assign([self._letters])
        await self._consumer.seek_to_beginning(self._letters)

    async def stop(self) -> None:
        await self._consumer.stop()
        await self._publisher.stop()

    async def published(self, letters: Mapping[int, Message]) -> dict[int, Any]:
        """Publish letters, and return what a consumer then reads, by offset of the original; some may come twice."""
        await self._publisher.publish(list(letters.values()))
        found: dict[int, Any] = {}
        while len(found) < len(letters):
            record = await asyncio.wait_for(self._consumer.getone(), 60)
            found[int(dict(record.headers)["dlt-offset"])] = record
        return found


def test_through_redis_and_kafka(kafka: SharedKafka, redis_server: SharedRedis, topic_prefix: str) -> None:
    broker = Broker(kafka.bootstrap, topic_prefix)

    async def come_back(odd: list[Odd], codec: str) -> dict[int, Any]:
        client = connect(redis_server.url)
        try:
            letters = await answered(in_redis(client, topic_prefix), fetched(odd, codec, broker.topic), broker.topic)
            return await broker.published(letters)
        finally:
            await client.aclose()

    with asyncio.Runner() as runner:
        runner.run(broker.start())

        @settings(max_examples=40)
        @given(odd_records(SIZES), CODEC)
        @example([Odd(Raw(b"{", None, NULLS), -1)], "none")
        @example([Odd(Raw(bytes(size), b"k", NULLS), at) for at, size in enumerate(SIZES)], "zstd")
        def come_back_as_they_came(odd: list[Odd], codec: str) -> None:
            are_as_they_came(odd, runner.run(come_back(odd, codec)), broker.topic, published=True)

        come_back_as_they_came()
        runner.run(broker.stop())
