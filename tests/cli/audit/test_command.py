"""The command `gammon-ratings audit`: its exit codes, its sentences, and what it prints."""

import asyncio
from collections import Counter

import pytest
from typer.testing import CliRunner, Result

from tests.conftest import SharedKafka, SharedRedis
from tests.servers.process import free_ports
from worker.cli.audit.command import as_document, lines
from worker.cli.audit.difference import NOWHERE, Difference
from worker.cli.audit.session import Report
from worker.cli.main import app
from worker.files import packaged
from worker.settings import Settings
from worker.stream.topic_admin import apply, topic_admin
from worker.stream.topics import parse_topics, with_overrides


def audit(*arguments: str, **variables: str) -> Result:
    environment = {f"RATINGS_{name.upper()}": value for name, value in variables.items()}
    return CliRunner().invoke(app, ["audit", *arguments], env=environment)


def create_topics(kafka: SharedKafka, prefix: str) -> None:
    settings = Settings(kafka_bootstrap=kafka.bootstrap, topic_prefix=prefix)
    declared = parse_topics(packaged("deploy/kafka/topics.toml").read_text(encoding="utf-8"))

    async def create() -> None:
        async with topic_admin(settings) as admin:
            await apply(admin, with_overrides(declared, prefix=prefix, partitions=2, replication=1))

    asyncio.run(create())


def test_a_pool_that_is_not_configured_ends_with_1() -> None:
    result = audit("chess")
    assert (result.exit_code, result.stderr) == (
        1,
        "There is no pool chess; the pools are gammon42, blitzgammon, nardeon, season0.\n",
    )


def test_kafka_away_ends_with_4() -> None:
    result = audit("nardeon", "--from-topics", kafka_bootstrap=f"127.0.0.1:{free_ports(1)[0]}")
    assert result.exit_code == 4
    assert "No Kafka broker can be reached" in result.stderr


def test_redis_away_ends_with_4(kafka: SharedKafka) -> None:
    url = f"redis://127.0.0.1:{free_ports(1)[0]}/0"
    assert audit("nardeon", kafka_bootstrap=kafka.bootstrap, redis_url=url).exit_code == 4


def test_a_topic_that_is_missing_ends_with_2(kafka: SharedKafka, topic_prefix: str) -> None:
    result = audit("nardeon", "--from-topics", kafka_bootstrap=kafka.bootstrap, topic_prefix=topic_prefix)
    assert result.exit_code == 2
    assert f"no topic {topic_prefix}match-finished" in result.stderr


def test_a_pool_without_any_cause_is_right(
    kafka: SharedKafka, redis_server: SharedRedis, topic_prefix: str, namespace: str
) -> None:
    create_topics(kafka, topic_prefix)
    where = {
        "kafka_bootstrap": kafka.bootstrap,
        "topic_prefix": topic_prefix,
        "redis_url": redis_server.url,
        "redis_namespace": namespace,
    }
    for flags in ((), ("--from-topics",)):
        result = audit("season0", *flags, **where)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("season0: 0 matches, 0 changes of 0 players, 0 positions replayed in ")


def report(*, from_topics: bool, in_flight: int = 0, difference: Difference | None = None) -> Report:
    fates = Counter({("match-finished", "rated"): 2, ("match-finished", "duplicate"): 1})
    return Report("nardeon", from_topics, 2, 4, 3, 2, in_flight, fates if from_topics else Counter(), 1.234, difference)


def test_what_was_seen_is_one_line() -> None:
    assert lines(report(from_topics=False, in_flight=1)) == [
        "nardeon: 2 matches, 4 changes of 3 players, 2 positions replayed in 1.2 s: every byte published and all that "
        "Redis holds is what the rules give; 1 cause in flight."
    ]


def test_from_the_topics_the_fates_follow() -> None:
    assert lines(report(from_topics=True)) == [
        "nardeon: 2 matches, 4 changes of 3 players, 2 positions replayed in 1.2 s: every byte published is what the "
        "rules give, and every input is accounted for.",
        "  match-finished: 1 duplicate, 2 rated",
    ]


@pytest.mark.parametrize(("position", "expected"), [(7, 7), (NOWHERE, None)])
def test_json_has_the_difference_and_its_position(position: int, expected: int | None) -> None:
    document = as_document(report(from_topics=True, difference=Difference(position, "Wrong.")))
    assert document["difference"] == {"position": expected, "sentence": "Wrong."}
    assert document["inputs"] == {"match-finished": {"duplicate": 1, "rated": 2}}
