"""The command `gammon-ratings simulate` against a broker."""

import asyncio
import gc
import json
import os
import pty
import subprocess
import sys
from collections import Counter
from typing import Any, Protocol

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from typer.testing import CliRunner, Result

from tests.servers.process import PATIENCE_S
from worker.cli.main import app
from worker.cli.simulation import Published, Scenario, Shares
from worker.cli.simulation import simulate as simulated
from worker.cli.simulation.marks import find_marks
from worker.cli.simulation.sending import now_ms, send
from worker.settings import Settings

TOPICS = ("match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked")
PARTITIONS = 3
START_MS = 1_790_208_000_000


class Kafka(Protocol):
    bootstrap: str


def run(*arguments: str, kafka: Kafka, topic_prefix: str) -> Result:
    environment = {"RATINGS_KAFKA_BOOTSTRAP": kafka.bootstrap, "RATINGS_TOPIC_PREFIX": topic_prefix}
    return CliRunner().invoke(app, ["simulate", *arguments], env=environment)


async def create_topics(bootstrap: str, prefix: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        kept = {"retention.ms": "-1"}  # what is simulated is dated in the past
        await admin.create_topics([NewTopic(prefix + topic, PARTITIONS, 1, topic_configs=kept) for topic in TOPICS])
    finally:
        await admin.close()


async def read_back(bootstrap: str, prefix: str, count: int) -> list[Any]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(prefix + topic, number) for topic in TOPICS for number in range(PARTITIONS)])
        records: list[Any] = []
        async with asyncio.timeout(PATIENCE_S):
            while len(records) < count:
                for batch in (await consumer.getmany(timeout_ms=200)).values():
                    records += batch
        return records
    finally:
        await consumer.stop()


def as_read(record: Published, prefix: str) -> tuple[object, ...]:
    return prefix + record.topic, record.key, record.value, record.timestamp_ms, record.headers


def test_what_is_published_can_be_read_back_whole_and_in_order(kafka: Kafka, topic_prefix: str) -> None:
    scenario = Scenario(seed=1, matches=5000, start_ms=START_MS, shares=Shares(0.05, 0.05, 0.05, 0.05, 0.5))
    settings = Settings(kafka_bootstrap=kafka.bootstrap, topic_prefix=topic_prefix)
    acknowledged: list[Published] = []

    async def publish() -> list[Any]:
        await create_topics(kafka.bootstrap, topic_prefix)
        await send(simulated(scenario), settings, sent=acknowledged.extend)
        return await read_back(kafka.bootstrap, topic_prefix, len(acknowledged))

    read = asyncio.run(publish())
    expected = list(simulated(scenario))
    assert acknowledged == expected
    assert Counter((r.topic, r.key, r.value, r.timestamp, tuple(r.headers)) for r in read) == Counter(
        as_read(record, topic_prefix) for record in expected
    )
    partition_of = {(record.topic, record.key): record.partition for record in read}
    for place in {(record.topic, record.partition) for record in read}:
        there = [record for record in read if (record.topic, record.partition) == place]
        assert [(record.topic, record.key, record.value) for record in sorted(there, key=lambda r: r.offset)] == [
            (topic_prefix + record.topic, record.key, record.value)
            for record in expected
            if partition_of[topic_prefix + record.topic, record.key] == place[1]
            and topic_prefix + record.topic == place[0]
        ]


def test_what_does_not_fit_into_one_batch_keeps_its_order(kafka: Kafka, topic_prefix: str) -> None:
    settings = Settings(kafka_bootstrap=kafka.bootstrap, topic_prefix=topic_prefix)
    first = next(simulated(Scenario(seed=1, matches=1, start_ms=START_MS)))
    records = [first._replace(value=b"%03d" % number + b" " * 100_000) for number in range(30)]

    async def publish() -> list[Any]:
        await create_topics(kafka.bootstrap, topic_prefix)
        await send(records, settings)
        return await read_back(kafka.bootstrap, topic_prefix, len(records))

    read = sorted(asyncio.run(publish()), key=lambda record: record.offset)
    assert [record.value for record in read] == [record.value for record in records]


def test_records_lie_where_any_other_publisher_puts_their_keys(kafka: Kafka, topic_prefix: str) -> None:
    settings = Settings(kafka_bootstrap=kafka.bootstrap, topic_prefix=topic_prefix)
    records = list(simulated(Scenario(seed=1, matches=30, start_ms=START_MS)))

    async def publish_both() -> list[Any]:
        await create_topics(kafka.bootstrap, topic_prefix)
        await send(records, settings)
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
        await producer.start()
        for record in records:
            await producer.send_and_wait(topic_prefix + record.topic, record.value, record.key)
        await producer.stop()
        return await read_back(kafka.bootstrap, topic_prefix, 2 * len(records))

    places: dict[tuple[str, bytes], set[int]] = {}
    for record in asyncio.run(publish_both()):
        places.setdefault((record.topic, record.key), set()).add(record.partition)
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len(set.union(*places.values())) == PARTITIONS


def test_the_command_tells_what_it_wrote(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    result = run("--matches", "500", "--seed", "4", "--json", kafka=kafka, topic_prefix=topic_prefix)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    written = sum(row["records"] for row in told["written"])
    matches = sum(row["records"] for row in told["written"] if row["kind"] in ("match", "late", "excluded"))
    assert matches == 500
    assert {row["topic"] for row in told["written"]} == set(TOPICS)
    assert written == told["records"] == len(asyncio.run(read_back(kafka.bootstrap, topic_prefix, written)))


def test_the_command_shows_a_table(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    result = run("--matches", "200", "--pools", "gammon42, season0", kafka=kafka, topic_prefix=topic_prefix)
    assert result.exit_code == 0, result.output
    assert "match-finished" in result.stdout
    assert "match-analyzed" not in result.stdout


def test_the_command_writes_no_prizes_or_links_unless_they_have_a_share(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    options = ("--matches", "400", "--prizes", "0.1", "--links", "0", "--invalid", "0.1", "--json")
    result = run(*options, kafka=kafka, topic_prefix=topic_prefix)
    assert result.exit_code == 0, result.output
    told = {(row["topic"], row["kind"]): row["records"] for row in json.loads(result.stdout)["written"]}
    assert told["tournament-prize-awarded", "prize"] > 5
    assert not [topic for topic, _ in told if topic == "identity-linked"]


def test_with_a_rate_records_carry_the_moment_at_which_they_are_published(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    before = now_ms()
    options = ("--matches", "100", "--rate", "100", "--players", "4", "--late", "0.5", "--json")
    result = run(*options, kafka=kafka, topic_prefix=topic_prefix)
    after = now_ms()
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    stamps = sorted(r.timestamp for r in asyncio.run(read_back(kafka.bootstrap, topic_prefix, told["records"])))
    assert before <= stamps[0]
    assert stamps[-1] <= after
    assert stamps[-1] - stamps[0] > 300
    assert any(row["kind"] == "late" for row in told["written"])


async def publish_real(bootstrap: str, topic: str, partition: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        await producer.send_and_wait(topic, b"{}", b"m-1", partition=partition)


async def how_many(bootstrap: str, prefix: str) -> int:
    """Return how many records there are in all input topics."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        partitions = [TopicPartition(prefix + topic, number) for topic in TOPICS for number in range(PARTITIONS)]
        return sum((await consumer.end_offsets(partitions)).values())


def simulated_into(kafka: Kafka, topic_prefix: str, *options: str) -> Result:
    return run("--matches", "300", "--prizes", "0.2", *options, kafka=kafka, topic_prefix=topic_prefix)


def refused(kafka: Kafka, topic_prefix: str) -> str:
    """Return the sentence with which made-up matches are refused, none of which may be published."""
    before = asyncio.run(how_many(kafka.bootstrap, topic_prefix))
    result = simulated_into(kafka, topic_prefix)
    assert result.exit_code == 2, result.output
    assert asyncio.run(how_many(kafka.bootstrap, topic_prefix)) == before
    return result.stderr


def test_where_everything_is_simulated_nobody_is_asked(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    for options in ((), ("--seed", "2"), ("--yes",), ("--pools", "nardeon")):
        result = simulated_into(kafka, topic_prefix, *options)
        assert result.exit_code == 0, result.output


def test_among_records_of_others_nothing_is_published_without_a_yes(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    asyncio.run(publish_real(kafka.bootstrap, f"{topic_prefix}identity-linked", 1))
    assert refused(kafka, topic_prefix) == (
        f"{topic_prefix}identity-linked/1 at {kafka.bootstrap} has records that were not simulated: set "
        "RATINGS_TOPIC_PREFIX to topics of their own, or give --yes to publish 300 made-up matches among them.\n"
    )


def test_records_of_others_are_not_forgotten_under_simulated_ones(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    asyncio.run(publish_real(kafka.bootstrap, f"{topic_prefix}match-finished", 0))
    for seed in ("1", "2"):
        result = simulated_into(kafka, topic_prefix, "--yes", "--seed", seed)
        assert result.exit_code == 0, result.output
        assert f"{topic_prefix}match-finished/0 " in refused(kafka, topic_prefix)


def test_records_of_others_are_seen_after_simulated_ones(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    assert simulated_into(kafka, topic_prefix).exit_code == 0
    asyncio.run(publish_real(kafka.bootstrap, f"{topic_prefix}match-finished", 2))
    assert f"{topic_prefix}match-finished/2 " in refused(kafka, topic_prefix)


def test_records_that_others_publish_meanwhile_are_seen(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    settings = Settings(kafka_bootstrap=kafka.bootstrap, topic_prefix=topic_prefix)

    async def publish() -> None:
        marks = await find_marks(settings)
        await publish_real(kafka.bootstrap, f"{topic_prefix}match-finished", 1)
        await send(simulated(Scenario(seed=1, matches=300, start_ms=START_MS)), settings, marks=marks)

    asyncio.run(publish())
    assert f"{topic_prefix}match-finished/1 " in refused(kafka, topic_prefix)


def test_what_was_simulated_and_is_published_once_more_is_of_others(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    result = simulated_into(kafka, topic_prefix, "--json")
    count = json.loads(result.stdout)["records"]

    async def publish_again() -> None:
        record = (await read_back(kafka.bootstrap, topic_prefix, count))[0]
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
            await producer.send_and_wait(record.topic, record.value, record.key, headers=[*record.headers])

    asyncio.run(publish_again())
    assert "has records that were not simulated" in refused(kafka, topic_prefix)


@pytest.mark.transactions
def test_a_partition_that_ends_in_a_marker_is_of_others(kafka: Kafka, topic_prefix: str) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    assert simulated_into(kafka, topic_prefix).exit_code == 0

    async def publish_in_a_transaction() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=topic_prefix)
        async with producer, producer.transaction():
            await producer.send(f"{topic_prefix}match-finished", b"{}", partition=0)

    asyncio.run(publish_in_a_transaction())
    assert f"{topic_prefix}match-finished/0 " in refused(kafka, topic_prefix)


@pytest.mark.parametrize(
    ("answer", "exit_code", "says"), [(b"n\n", 1, b"Nothing was published."), (b"y\n", 0, b"Written")]
)
def test_on_a_terminal_it_asks(kafka: Kafka, topic_prefix: str, answer: bytes, exit_code: int, says: bytes) -> None:
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    asyncio.run(publish_real(kafka.bootstrap, f"{topic_prefix}match-finished", 0))
    environment = {**os.environ, "RATINGS_KAFKA_BOOTSTRAP": kafka.bootstrap, "RATINGS_TOPIC_PREFIX": topic_prefix}
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    command = [sys.executable, "-m", "worker.cli", "simulate", "--matches", "50"]
    ended = subprocess.run(command, env=environment, stdin=theirs, capture_output=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert ended.returncode == exit_code, ended.stderr
    assert b"Publish 50 made-up matches among them? [y/N]:" in ended.stderr
    assert says in ended.stdout + ended.stderr
    assert (asyncio.run(how_many(kafka.bootstrap, topic_prefix)) > 1) == (exit_code == 0)


def test_records_that_the_brokers_find_too_far_ahead_end_in_a_sentence(
    kafka: Kafka, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    if not kafka.real:
        pytest.skip("the embedded broker takes any timestamp")
    asyncio.run(create_topics(kafka.bootstrap, topic_prefix))
    result = run("--matches", "500", "--end", "2999-01-01T00:00:00Z", kafka=kafka, topic_prefix=topic_prefix)
    gc.collect()  # what nobody has looked at is logged when it is freed
    assert result.exit_code == 1
    assert "2999-01-01T00:00:00.000Z: choose another --end" in result.stderr
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_missing_topics_are_named_with_the_remedy(kafka: Kafka, topic_prefix: str) -> None:
    result = run("--matches", "5", kafka=kafka, topic_prefix=topic_prefix)
    assert result.exit_code == 2
    assert all(topic_prefix + topic in result.output for topic in TOPICS)
    assert "topics apply" in result.output


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--pools", "chess"), "chess"),
        (("--end", "yesterday"), "--end"),
        (("--end", "2026-10-01T00:00:00Z", "--rate", "5"), "--rate"),
        (("--end", "0001-01-01T00:00:00Z"), "1970"),
        (("--end", "1970-01-10T00:00:00Z", "--days", "14"), "1970"),
        (("--end", "9999-12-31T23:59:59Z"), "9999"),
        (("--late", "2"), "late"),
    ],
)
def test_wrong_options_are_refused_with_exit_code_2(options: tuple[str, ...], word: str) -> None:
    class Nowhere:
        bootstrap = "127.0.0.1:1"

    result = run(*options, kafka=Nowhere(), topic_prefix="")
    assert result.exit_code == 2
    assert word in result.output


def test_a_broker_that_is_away_ends_in_a_sentence() -> None:
    class Nowhere:
        bootstrap = "127.0.0.1:1"

    result = run("--matches", "5", kafka=Nowhere(), topic_prefix="")
    assert result.exit_code == 4
    assert "127.0.0.1:1" in result.output
