"""Redis, as the metrics and readiness tell of it."""

import asyncio
from collections.abc import Mapping
from math import nan

import structlog

from worker.stream.health import Health
from worker.stream.metrics import Metrics
from worker.stream.persistence import aof_warning
from worker.tables.outbox_age import OutboxAge
from worker.tables.registry import Registry
from worker.tables.tables import PoolTables

log = structlog.get_logger()


class RedisWatch:
    """Whether Redis takes writes and keeps them, and what waits in each pool's outbox."""

    step = "Writing to Redis"

    def __init__(
        self,
        registry: Registry,
        tables: Mapping[str, PoolTables],
        ages: Mapping[str, OutboxAge],
        metrics: Metrics,
        health: Health,
    ) -> None:
        self._registry = registry
        self._tables = tables
        self._ages = ages
        self._metrics = metrics
        self._health = health
        self._tells_fsync = True

    async def look(self) -> None:
        """See `Watch.look`."""
        await self._registry.check_writable()
        sizes = await asyncio.gather(*(table.outbox_size() for table in self._tables.values()))
        oldest_s = await asyncio.gather(*(age.oldest_s() for age in self._ages.values()))
        keeps_aof = await self._registry.keeps_aof()
        syncs_always = await self._registry.syncs_always() if self._tells_fsync else None
        self._tells_fsync = syncs_always is not None  # what is refused once is not asked for again and again
        for pool, size in zip(self._tables, sizes, strict=True):
            self._metrics.outbox.labels(pool).set(size)
        for pool, age_s in zip(self._ages, oldest_s, strict=True):
            self._metrics.outbox_oldest_s.labels(pool).set(age_s)
        self._show_aof(keeps_aof, syncs_always)
        self._metrics.redis_up.set(1)
        sentence = aof_warning(keeps_aof)
        if self._health.warn("append-only file", sentence):
            log.warning(sentence)

    def forget(self) -> None:
        """See `Watch.forget`."""
        for pool in self._tables:
            self._metrics.outbox.labels(pool).set(nan)
            self._metrics.outbox_oldest_s.labels(pool).set(nan)
        self._show_aof(None, None)
        self._metrics.redis_up.set(0)

    def _show_aof(self, keeps_aof: bool | None, syncs_always: bool | None) -> None:
        self._metrics.redis_aof.set(nan if keeps_aof is None else keeps_aof)
        always = None if syncs_always is None else bool(keeps_aof) and syncs_always
        self._metrics.redis_aof_fsync_always.set(nan if always is None else always)
