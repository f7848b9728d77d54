"""Servers for the tests: real ones where they can be had, the embedded one otherwise.

`RATINGS_TEST_REAL=1` refuses to go on without real servers, `RATINGS_TEST_REAL=0` uses the embedded one throughout.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.embedded import Embedded, start_embedded
from tests.servers.kafka import KafkaServer, kafka_available, start_kafka
from tests.servers.redis import redis_available, start_redis
from tests.servers.redis_cluster import RedisCluster, start_cluster
from tests.servers.silent import SilentServer

# No example is too slow: how long one takes says more about the machine than about the code.
settings.register_profile(
    "untimed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")

_CHOICE = os.environ.get("RATINGS_TEST_REAL", "")
_REAL_KAFKA = _CHOICE != "0" and kafka_available()
_REAL_REDIS = _CHOICE != "0" and redis_available()
_MARKERS = {
    "transactions": (_REAL_KAFKA, "left out on the embedded broker: it has no transactions; needs java and mvn"),
    "real_kafka": (_REAL_KAFKA, "left out: starts a real Kafka, which needs java and mvn"),
    "real_redis": (_REAL_REDIS, "left out: starts a real Redis, which needs redis-server"),
}


@dataclass(frozen=True)
class SharedKafka:
    """The session's broker; several tests use it, so topics start with the `topic_prefix` of the test."""

    bootstrap: str
    real: bool


@dataclass(frozen=True)
class SharedRedis:
    """The session's Redis; several tests use it, so keys start with the `namespace` of the test."""

    url: str
    real: bool


def pytest_configure(config: pytest.Config) -> None:
    # A shell has what it starts in the background ignore SIGINT, and every process that a test starts would inherit it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, (_, reason) in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {reason}")
    if _CHOICE == "1" and not (_REAL_KAFKA and _REAL_REDIS):
        missing = [name for name, there in (("java and mvn", _REAL_KAFKA), ("redis-server", _REAL_REDIS)) if not there]
        raise pytest.UsageError(
            f"RATINGS_TEST_REAL=1 needs {' and '.join(missing)}: install what is missing, or unset RATINGS_TEST_REAL."
        )


def pytest_report_header() -> str:
    kafka = "real Kafka" if _REAL_KAFKA else "embedded Kafka (noida-db)"
    redis = "real Redis" if _REAL_REDIS else "embedded Redis (noida-db)"
    return f"servers: {kafka}, {redis}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name, (available, reason) in _MARKERS.items():
            if item.get_closest_marker(name) and not available:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """The embedded server, Kafka and Redis in one."""
    server = start_embedded(tmp_path_factory.mktemp("embedded"))
    yield server
    server.kill()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedKafka]:
    """The session's Kafka."""
    if not _REAL_KAFKA:
        yield SharedKafka(request.getfixturevalue("embedded").bootstrap, real=False)
        return
    server = start_kafka(tmp_path_factory.mktemp("kafka"))
    yield SharedKafka(server.bootstrap, real=True)
    server.kill()


@pytest.fixture(scope="session")
def _spare_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    server = start_kafka(tmp_path_factory.mktemp("spare-kafka"))
    yield server
    server.kill()


@pytest.fixture
def spare_kafka(_spare_kafka: KafkaServer) -> Iterator[KafkaServer]:
    """A real broker, with topics of other tests, that the test may freeze, kill and start again."""
    if not _spare_kafka.alive:
        _spare_kafka.restart()
    yield _spare_kafka
    if _spare_kafka.alive:
        _spare_kafka.resume()


@pytest.fixture(scope="session")
def redis_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedRedis]:
    """The session's Redis."""
    if not _REAL_REDIS:
        yield SharedRedis(request.getfixturevalue("embedded").url, real=False)
        return
    server = start_redis(tmp_path_factory.mktemp("redis"))
    yield SharedRedis(server.url, real=True)
    server.kill()


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """The session's Redis Cluster of three masters."""
    if not _REAL_REDIS:
        pytest.skip(_MARKERS["real_redis"][1])
    cluster = start_cluster(tmp_path_factory.mktemp("redis-cluster"))
    yield cluster
    cluster.kill()


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    """A server that never answers."""
    server = SilentServer()
    yield server
    server.close()


@pytest.fixture
def topic_prefix() -> str:
    """A prefix that no other test's topics have."""
    return f"t{secrets.token_hex(4)}-"


@pytest.fixture
def namespace() -> str:
    """A prefix that no other test's Redis keys have."""
    return f"t{secrets.token_hex(4)}"
