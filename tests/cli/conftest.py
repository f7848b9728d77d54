"""What the tests of commands share."""

import pytest

from tests.cli.standing import Standing
from tests.conftest import SharedRedis


@pytest.fixture
def standing(redis_server: SharedRedis, namespace: str) -> Standing:
    """Empty pools that nobody else uses."""
    return Standing(redis_server.url, namespace)
