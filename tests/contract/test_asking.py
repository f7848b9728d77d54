"""No client of aiokafka makes a topic by asking for it, on a broker with auto.create.topics.enable."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from tests.conftest import SharedKafka
from tests.servers.topics import topics_there
from worker.settings import Settings
from worker.stream.kafka import kafka_client_options

GIVE_UP_MS = 500


async def _describe(settings: Settings, topic: str) -> None:
    client = AIOKafkaAdminClient(**kafka_client_options(settings))
    await client.start()
    try:
        (found,) = await client.describe_topics([topic])
        assert found["error_code"] == 3
    finally:
        await client.close()


async def _publish(settings: Settings, topic: str) -> None:
    producer = AIOKafkaProducer(**kafka_client_options(settings), request_timeout_ms=GIVE_UP_MS)
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"value")
    finally:
        await producer.stop()


async def _count_partitions(settings: Settings, topic: str) -> None:
    producer = AIOKafkaProducer(**kafka_client_options(settings), request_timeout_ms=GIVE_UP_MS)
    await producer.start()
    try:
        await producer.partitions_for(topic)
    finally:
        await producer.stop()


async def _subscribe(settings: Settings, topic: str) -> None:
    consumer = AIOKafkaConsumer(topic, **kafka_client_options(settings))
    try:
        await consumer.start()
    finally:
        await consumer.stop()


async def _subscribe_in_a_group(settings: Settings, topic: str) -> None:
    consumer = AIOKafkaConsumer(
        topic, **kafka_client_options(settings), group_id=topic, request_timeout_ms=40_000, metadata_max_age_ms=100
    )
    await consumer.start()
    try:
        await consumer.getmany(timeout_ms=GIVE_UP_MS)
        await consumer._client.force_metadata_update()
    finally:
        await consumer.stop()


async def _assign(settings: Settings, topic: str) -> None:
    consumer = AIOKafkaConsumer(**kafka_client_options(settings), request_timeout_ms=GIVE_UP_MS)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        await consumer._client.force_metadata_update()
    finally:
        await consumer.stop()


async def _read_offsets(settings: Settings, topic: str) -> None:
    consumer = AIOKafkaConsumer(**kafka_client_options(settings), request_timeout_ms=GIVE_UP_MS)
    await consumer.start()
    try:
        await consumer.end_offsets([TopicPartition(topic, 0)])
    finally:
        await consumer.stop()


@pytest.mark.parametrize(
    "ask", [_describe, _publish, _count_partitions, _subscribe, _subscribe_in_a_group, _assign, _read_offsets]
)
def test_asking_for_a_topic_does_not_create_it(
    kafka: SharedKafka, topic_prefix: str, ask: Callable[[Settings, str], Awaitable[None]]
) -> None:
    topic = f"{topic_prefix}absent"

    async def run() -> list[str]:
        with contextlib.suppress(KafkaError):  # that there is no such topic
            await ask(Settings(kafka_bootstrap=kafka.bootstrap), topic)
        return await topics_there(kafka.bootstrap, topic_prefix)

    assert asyncio.run(run()) == []
