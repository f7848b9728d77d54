"""The registry: which pools a namespace holds, and in which layout."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis import Redis

from tests.servers.redis import start_redis
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


@pytest.mark.real_redis
def test_it_tells_whether_redis_keeps_and_syncs_an_append_only_file(tmp_path, namespace):
    server = start_redis(tmp_path)

    async def body(registry: Registry) -> None:
        found = []
        for appendonly, appendfsync in (("yes", "always"), ("yes", "everysec"), ("no", "always")):
            await registry._client.config_set("appendonly", appendonly)
            await registry._client.config_set("appendfsync", appendfsync)
            found.append((await registry.keeps_aof(), await registry.syncs_always()))
        assert found == [(True, True), (True, False), (False, True)]

    try:
        with_registry(server.url, namespace, body)
    finally:
        server.kill()


@pytest.mark.real_redis
def test_a_redis_whose_settings_are_nobodys_business_is_asked_no_more_than_it_tells(tmp_path, namespace):
    server = start_redis(tmp_path)

    async def body(registry: Registry) -> None:
        await registry._client.execute_command("ACL SETUSER default -config")
        assert await registry.keeps_aof() is True
        assert await registry.syncs_always() is None

    try:
        with_registry(server.url, namespace, body)
    finally:
        server.kill()


@pytest.mark.parametrize("node", range(3))
def test_one_node_of_a_cluster_is_enough_to_lose_or_to_evict(redis_cluster, namespace, node):
    async def body(registry: Registry) -> None:
        assert (await registry.keeps_aof(), await registry.syncs_always()) == (True, True)
        assert await registry.eviction_policy() == "noeviction"
        with Redis(port=redis_cluster.nodes[node].port) as one:
            wrong = {"appendonly": "no", "appendfsync": "everysec", "maxmemory-policy": "allkeys-lru"}
            right = {name: one.config_get(name)[name] for name in wrong}
            try:
                for name, value in wrong.items():
                    one.config_set(name, value)
                assert (await registry.keeps_aof(), await registry.syncs_always()) == (False, False)
                assert await registry.eviction_policy() == "allkeys-lru"
            finally:
                for name, value in right.items():
                    one.config_set(name, value)

    with_registry(redis_cluster.url, namespace, body)
