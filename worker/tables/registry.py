"""Which pools this Redis is known to hold, outside any pool, so that a new pool can be told from a lost one."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from redis.asyncio.cluster import RedisCluster
from redis.exceptions import ResponseError

from worker.tables.answers import partition_of
from worker.tables.connect import RedisClient
from worker.tables.errors import FormatError
from worker.tables.tables import Partition

FORMAT = "3"
"""Version of how the tables are laid out; a program that finds another one must not touch them."""


class Registry:
    """The registry of one namespace."""

    def __init__(self, client: RedisClient, namespace: str) -> None:
        self._client: Any = client
        self._key = f"{namespace}:registry"
        self._readers_key = f"{namespace}:readers"

    async def pools(self) -> frozenset[str]:
        """Return the names of all pools that ever began here. Raises FormatError for tables of another layout."""
        found = await self._client.hgetall(self._key)
        stored = found.pop(b"format", FORMAT.encode()).decode()
        if stored != FORMAT:
            raise FormatError(
                f"{self._key} says that the tables have format {stored}, but this program knows format {FORMAT}: "
                "run the version that wrote them, or give this one a RATINGS_REDIS_NAMESPACE of its own"
            )
        return frozenset(name.decode().removeprefix("pool:") for name in found)

    async def add(self, pools: Iterable[str]) -> None:
        """Note that these pools have begun."""
        await self._client.hset(self._key, mapping={"format": FORMAT, **{f"pool:{name}": "1" for name in pools}})

    async def readers(self) -> dict[Partition, frozenset[str]]:
        """Return, by partition, the pools that the worker knew which was given it last."""
        found = await self._client.hgetall(self._readers_key)
        return {partition_of(field): frozenset(pools.decode().split(",")) for field, pools in found.items()}

    async def note_reader(self, partitions: Collection[Partition], pools: Iterable[str]) -> None:
        """Note that a worker which knows these pools was given these partitions."""
        names = ",".join(sorted(pools))
        if partitions:
            mapping = {f"{partition.topic}/{partition.number}": names for partition in partitions}
            await self._client.hset(self._readers_key, mapping=mapping)

    async def check_writable(self) -> None:
        """Raise what Redis raises when it does not take writes."""
        await self._client.set(f"{self._key}:writable", "1")

    async def eviction_policy(self) -> str:
        """Return Redis' `maxmemory-policy`, "unknown" where it does not tell; of several, one that may evict."""
        return min(str(node.get("maxmemory_policy", "unknown")) for node in await self._ask_masters("info", "memory"))

    async def keeps_aof(self) -> bool | None:
        """Return whether every Redis that takes writes keeps an append-only file, None where one does not tell."""
        told = [node.get("aof_enabled") for node in await self._ask_masters("info", "persistence")]
        return None if None in told else all(told)

    async def syncs_always(self) -> bool | None:
        """Return whether every one of them has `appendfsync always`, None where one does not tell, or must not."""
        try:
            told = [node.get("appendfsync") for node in await self._ask_masters("config_get", "appendfsync")]
        except ResponseError:
            return None
        return None if None in told else all(policy == "always" for policy in told)

    async def _ask_masters(self, command: str, about: str) -> list[Mapping[str, Any]]:
        ask = getattr(self._client, command)
        if not isinstance(self._client, RedisCluster):
            return [await ask(about)]
        answer = await ask(about, target_nodes=RedisCluster.PRIMARIES)
        # A cluster's client answers by node, unless there is only one.
        return list(answer.values()) if all(isinstance(node, dict) for node in answer.values()) else [answer]
