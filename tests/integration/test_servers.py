"""The servers of the test support do what the tests that use them rest on."""

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from tests.conftest import SharedKafka, SharedRedis
from tests.servers import redis_cluster as clusters
from tests.servers.embedded import Embedded
from tests.servers.kafka import KafkaServer
from tests.servers.process import PATIENCE_S, ServerFailedError, ServerProcess, wait_until
from tests.servers.redis import start_redis


async def _create_topic(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    finally:
        await admin.close()


async def _produce(bootstrap: str, topic: str, value: bytes, transactional_id: str | None = None) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id) as producer:
        if transactional_id is None:
            await producer.send_and_wait(topic, value)
            return
        async with producer.transaction():
            await producer.send_and_wait(topic, value)


async def _first_value(bootstrap: str, topic: str) -> bytes | None:
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed") as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        value: bytes | None = (await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value
        return value


def test_a_record_comes_back_from_the_sessions_kafka(kafka: SharedKafka, topic_prefix: str) -> None:
    async def round_trip() -> bytes | None:
        topic = f"{topic_prefix}round-trip"
        await _create_topic(kafka.bootstrap, topic)
        await _produce(kafka.bootstrap, topic, b"finished")
        return await _first_value(kafka.bootstrap, topic)

    assert asyncio.run(round_trip()) == b"finished"


@pytest.mark.transactions
def test_a_committed_transaction_is_read(kafka: SharedKafka, topic_prefix: str) -> None:
    async def round_trip() -> bytes | None:
        topic = f"{topic_prefix}transaction"
        await _create_topic(kafka.bootstrap, topic)
        await _produce(kafka.bootstrap, topic, b"committed", transactional_id=topic)
        return await _first_value(kafka.bootstrap, topic)

    assert asyncio.run(round_trip()) == b"committed"


@pytest.mark.real_kafka
def test_kafka_keeps_its_topics_across_a_kill(spare_kafka: KafkaServer, topic_prefix: str) -> None:
    topic = f"{topic_prefix}kept"
    asyncio.run(_create_topic(spare_kafka.bootstrap, topic))
    asyncio.run(_produce(spare_kafka.bootstrap, topic, b"finished"))
    killed = spare_kafka.pid
    spare_kafka.kill()
    spare_kafka.restart()
    assert spare_kafka.pid != killed
    assert asyncio.run(_first_value(spare_kafka.bootstrap, topic)) == b"finished"


def test_the_embedded_server_speaks_both_protocols(embedded: Embedded, topic_prefix: str) -> None:
    async def round_trip() -> bytes | None:
        topic = f"{topic_prefix}embedded"
        await _create_topic(embedded.bootstrap, topic)
        await _produce(embedded.bootstrap, topic, b"finished")
        return await _first_value(embedded.bootstrap, topic)

    assert asyncio.run(round_trip()) == b"finished"
    with Redis.from_url(embedded.url) as client:
        assert client.eval("return redis.call('SET', KEYS[1], ARGV[1])", 1, "embedded", "kept") == b"OK"
        assert client.get("embedded") == b"kept"


def test_a_key_comes_back_from_the_sessions_redis(redis_server: SharedRedis, namespace: str) -> None:
    with Redis.from_url(redis_server.url) as client:
        client.set(f"{namespace}:key", "kept")
        assert client.get(f"{namespace}:key") == b"kept"


@pytest.mark.real_redis
def test_what_redis_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    server = start_redis(tmp_path)
    try:
        with Redis.from_url(server.url) as client:
            client.set("rating", "1500")
        server.kill()
        server.restart()
        with Redis.from_url(server.url) as client:
            assert client.get("rating") == b"1500"
    finally:
        server.kill()


def test_a_slot_moves_while_it_is_written(redis_cluster: clusters.RedisCluster, namespace: str) -> None:
    first_node = redis_cluster.nodes[0]
    with RedisCluster(host="127.0.0.1", port=first_node.port) as client:
        keys = [f"{namespace}:{{pool}}:{number}" for number in range(200)]
        slot = client.keyslot(keys[0])
        target = (redis_cluster.owner(slot) + 1) % len(redis_cluster.nodes)
        for key in keys[:100]:
            client.set(key, key)
        redis_cluster.begin_move(slot, target)
        redis_cluster.move_keys(slot, target, 50)
        for key in keys[100:]:
            client.set(key, key)
        while redis_cluster.move_keys(slot, target, 50):
            pass
        redis_cluster.finish_move(slot, target)

        assert redis_cluster.owner(slot) == target
        assert [client.get(key) for key in keys] == [key.encode() for key in keys]
        with Redis(port=redis_cluster.nodes[target].port) as direct:
            assert direct.get(keys[-1]) == keys[-1].encode()


@pytest.mark.real_redis
def test_a_paused_server_answers_again_once_resumed(tmp_path: Path) -> None:
    server = start_redis(tmp_path)
    try:
        with Redis.from_url(server.url, socket_timeout=0.5, retry=Retry(NoBackoff(), 0)) as client:
            server.pause()
            with pytest.raises(RedisTimeoutError):
                client.ping()
            server.resume()
            wait_until(lambda: bool(client.ping()), "the resumed server")
    finally:
        server.kill()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    process = ServerProcess(["sh", "-c", "echo no such option; exit 3"], tmp_path / "server.log")
    with pytest.raises(ServerFailedError, match=r"(?s)code 3.*no such option"):
        process.wait_ready(lambda: False, "the shell")
