"""The registry: which pools a namespace holds, and in which layout."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from worker.tables.connect import connect
from worker.tables.errors import FormatError
from worker.tables.registry import Registry


def with_registry(url: str, namespace: str, body: Callable[[Registry], Awaitable[None]]) -> None:
    async def run() -> None:
        client = connect(url)
        try:
            await body(Registry(client, namespace))
        finally:
            await client.aclose()

    asyncio.run(run())


def test_a_pool_is_known_once_it_has_begun(redis_server, namespace):
    async def body(registry: Registry) -> None:
        assert await registry.pools() == frozenset()
        await registry.add(["gammon42"])
        await registry.add(["season0"])
        assert await registry.pools() == {"gammon42", "season0"}

    with_registry(redis_server.url, namespace, body)


def test_tables_of_another_layout_are_refused_with_what_to_do(redis_server, namespace):
    async def body(registry: Registry) -> None:
        await registry.add(["gammon42"])
        await registry._client.hset(f"{namespace}:registry", "format", "1")
        with pytest.raises(FormatError, match=r"have format 1, but .* RATINGS_REDIS_NAMESPACE of its own"):
            await registry.pools()

    with_registry(redis_server.url, namespace, body)
