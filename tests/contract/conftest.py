import pytest

from tests.contract.stores import Store


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, namespace: str) -> Store:
    """A store of its own for each test, in every kind there is."""
    url = None if request.param == "memory" else request.getfixturevalue("redis_server").url
    return Store(url, namespace)
