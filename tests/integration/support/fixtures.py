"""The fixture that integration tests and fault tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SharedKafka, SharedRedis
from tests.integration.support.site import Site


@pytest.fixture
def site(
    kafka: SharedKafka, redis_server: SharedRedis, topic_prefix: str, namespace: str, tmp_path: Path
) -> Iterator[Site]:
    """A corner of the session's servers; its workers end with the test."""
    corner = Site(kafka.bootstrap, redis_server.url, topic_prefix, namespace, tmp_path)
    yield corner
    corner.end_workers()
