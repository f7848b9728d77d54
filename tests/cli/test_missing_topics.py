"""Commands that need topics which do not exist name them, and create none."""

import asyncio

import pytest
from typer.testing import CliRunner

from tests.conftest import SharedKafka, SharedRedis
from tests.servers.topics import topics_there
from worker.cli.main import app


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("topics", "check"), 1),
        (("topics", "check", "--outputs", "--json"), 1),
        (("simulate", "--matches", "5"), 2),
        (("simulate", "--matches", "5", "--rate", "100"), 2),
        (("audit", "gammon42"), 2),
        (("audit", "gammon42", "--from-topics"), 2),
    ],
    ids=str,
)
def test_what_is_missing_is_named_and_stays_missing(
    kafka: SharedKafka,
    redis_server: SharedRedis,
    topic_prefix: str,
    namespace: str,
    arguments: tuple[str, ...],
    code: int,
) -> None:
    environment = {
        "RATINGS_KAFKA_BOOTSTRAP": kafka.bootstrap,
        "RATINGS_REDIS_URL": redis_server.url,
        "RATINGS_REDIS_NAMESPACE": namespace,
        "RATINGS_TOPIC_PREFIX": topic_prefix,
    }
    result = CliRunner().invoke(app, arguments, env=environment)
    assert result.exit_code == code, result.output
    assert f"{topic_prefix}match-finished" in result.output
    if code == 2:
        assert "gammon-ratings topics apply" in result.stderr
    assert asyncio.run(topics_there(kafka.bootstrap, topic_prefix)) == []
