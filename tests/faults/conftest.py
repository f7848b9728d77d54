"""Fixtures of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.support.fixtures import site
from tests.integration.support.site import Site
from tests.servers.kafka import KafkaServer, start_kafka
from tests.servers.redis import RedisServer, start_redis

__all__ = ["site"]


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that the test may harm."""
    server = start_redis(tmp_path / "redis")
    yield server
    server.kill()


@pytest.fixture
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A Kafka that the test may harm."""
    server = start_kafka(tmp_path_factory.mktemp("own-kafka"))
    yield server
    server.kill()


@pytest.fixture
def fragile(site: Site, own_redis: RedisServer) -> Site:
    """A site on that Redis, its topics made, in small batches, so that there is something in hand at any time."""
    corner = site.on_redis(own_redis.url, batch_max="100")
    corner.apply_topics(4)
    return corner
