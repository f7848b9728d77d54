import asyncio
import json
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError
from click.testing import Result
from typer.testing import CliRunner

from tests.servers.process import PATIENCE_S
from worker.cli.main import app
from worker.settings import Settings
from worker.stream.topic_admin import read_topics, topic_admin
from worker.stream.topics import ActualTopic

MIB = 1 << 20


@pytest.fixture(autouse=True)
def settings(monkeypatch, kafka, topic_prefix) -> Iterator[Settings]:
    monkeypatch.setenv("RATINGS_KAFKA_BOOTSTRAP", kafka.bootstrap)
    monkeypatch.setenv("RATINGS_TOPIC_PREFIX", topic_prefix)
    monkeypatch.setenv("RATINGS_REPLICATION", "1")
    yield Settings()


def topics(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["topics", *arguments])


def read(settings: Settings, name: str) -> ActualTopic:
    async def run() -> ActualTopic:
        async with topic_admin(settings) as admin:
            real = settings.topic(name)
            return (await read_topics(admin, [real]))[real]

    return asyncio.run(run())


def configure(settings: Settings, name: str, **configs: str) -> None:
    async def run() -> None:
        async with topic_admin(settings) as admin:
            (response,) = await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, real, named)])
            assert [resource[0] for resource in response.resources] == [0]
            while not named.items() <= (await read_topics(admin, [real]))[real].overrides.items():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    real = settings.topic(name)
    named = {key.replace("_", "."): value for key, value in configs.items()}
    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_apply_creates_everything_and_then_there_is_nothing_to_tell(settings):
    before = topics("check")
    assert before.exit_code == 1
    assert len(before.stdout.splitlines()) == 10
    assert f"{settings.topic('match-finished')} does not exist (8 partitions, 1 replicas)." in before.stdout

    applied = topics("apply")
    assert applied.exit_code == 0, applied.output
    assert applied.stdout.endswith("All 10 topics are as declared.\n")

    after = topics("check")
    assert (after.exit_code, after.stdout) == (0, "All 10 topics are as declared.\n")
    assert topics("apply").stdout == "All 10 topics are as declared.\n"


def test_more_partitions_are_given_to_inputs_and_to_outputs_only_on_demand(settings, monkeypatch):
    topics("apply")
    monkeypatch.setenv("RATINGS_PARTITIONS", "16")
    assert topics("check").exit_code == 1

    assert topics("apply").exit_code == 0
    assert read(settings, "match-finished").partitions == 16
    assert read(settings, "identity-linked").partitions == 16
    assert read(settings, "rating-changed").partitions == 8
    assert read(settings, "match-finished.dlt").partitions == 8
    assert topics("check").exit_code == 0

    assert topics("check", "--outputs").exit_code == 1
    assert topics("apply", "--outputs").exit_code == 0
    assert read(settings, "rating-changed").partitions == 16
    assert topics("check", "--outputs").exit_code == 0


def test_fewer_partitions_than_there_are_change_nothing(settings, monkeypatch):
    monkeypatch.setenv("RATINGS_PARTITIONS", "12")
    topics("apply")
    monkeypatch.setenv("RATINGS_PARTITIONS", "4")
    assert topics("apply", "--outputs").exit_code == 0
    assert read(settings, "match-finished").partitions == 12


def test_an_output_with_fewer_partitions_than_declared_remains_and_is_told(settings, monkeypatch):
    monkeypatch.setenv("RATINGS_PARTITIONS", "2")
    topics("apply")
    monkeypatch.delenv("RATINGS_PARTITIONS")
    applied = topics("apply")
    assert applied.exit_code == 1
    assert f"{settings.topic('rating-changed')} has 2 partitions, but 8 are declared; " in applied.stdout
    assert read(settings, "match-finished").partitions == 8


def test_a_setting_that_differs_is_set_and_others_of_the_topic_stay(settings):
    topics("apply")
    configure(settings, "rating-changed", retention_ms="3600000", segment_bytes="20000000")
    assert "retention.ms = 3600000, but -1 is declared." in topics("check").stdout

    assert topics("apply").exit_code == 0
    topic = read(settings, "rating-changed")
    assert topic.config["retention.ms"] == "-1"
    assert topic.overrides["segment.bytes"] == "20000000"


def test_a_longer_retention_than_declared_is_left_alone(settings):
    topics("apply")
    configure(settings, "match-finished.dlt", retention_ms="-1", max_message_bytes="4000000", cleanup_policy="delete")
    topics("apply")
    topic = read(settings, "match-finished.dlt")
    assert (topic.config["retention.ms"], topic.config["max.message.bytes"]) == ("-1", "4000000")


def test_replicas_that_were_not_declared_remain_and_are_told(settings):
    topics("apply")
    check = topics("check", "--replication", "3")
    assert check.exit_code == 1
    assert "has 1 replicas, but 3 are declared" in check.stdout


def test_more_replicas_than_brokers_are_refused_in_one_sentence(settings, kafka):
    if not kafka.real:
        pytest.skip("the embedded broker takes any number of replicas")
    refused = topics("apply", "--replication", "3")
    assert refused.exit_code == 1
    assert "cannot be created" in refused.stderr
    assert "--replication" in refused.stderr
    assert "Traceback" not in refused.output


def test_json_tells_each_difference(settings):
    check = topics("check", "--json")
    first = json.loads(check.stdout)["differences"][0]
    assert check.exit_code == 1
    assert (first["topic"], first["kind"], first["applicable"]) == (settings.topic("match-finished"), "missing", True)

    applied = json.loads(topics("apply", "--json").stdout)
    assert (len(applied["applied"]), applied["differences"]) == (10, [])


def test_a_value_of_one_mebibyte_passes_with_its_key_and_headers_and_so_does_its_dead_letter(settings):
    topics("apply")
    value = b"x" * MIB
    key = b"k" * 200
    headers = [("ce_id", b"h" * 32_000), ("ce_source", b"h" * 32_000)]
    letter = [*headers, *((f"dlt-{name}", b"d" * 2_000) for name in ("reason", "message", "topic", "partition"))]

    async def run() -> int:
        topic, dead_letters = settings.topic("match-finished"), settings.topic("match-finished.dlt")
        options = {"bootstrap_servers": settings.kafka_bootstrap, "max_request_size": 4 * MIB, "acks": "all"}
        async with AIOKafkaProducer(**options) as producer:
            await producer.send_and_wait(topic, value, key, headers=headers)
            await producer.send_and_wait(dead_letters, value, key, headers=letter)
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(dead_letters, value * 2, key, headers=letter)
        async with AIOKafkaConsumer(
            topic, bootstrap_servers=settings.kafka_bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            record = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            return len(record.value)

    assert asyncio.run(run()) == MIB


def test_a_broken_topics_file_ends_with_code_2(monkeypatch, tmp_path):
    file = tmp_path / "topics.toml"
    file.write_text('[topics.a]\nrole = "both"\n')
    monkeypatch.setenv("RATINGS_TOPICS_FILE", str(file))
    check = topics("check")
    assert check.exit_code == 2
    assert "topics.a.role" in check.stderr


def test_no_broker_ends_with_code_4_and_one_sentence(monkeypatch):
    monkeypatch.setenv("RATINGS_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    check = topics("check")
    assert check.exit_code == 4
    assert "No Kafka broker can be reached at 127.0.0.1:1" in check.stderr
