"""The configured pools and their tables, for the worker and for the commands that read."""

from collections.abc import Mapping

from worker.files import packaged
from worker.ratings.analysis import records_kept_ms
from worker.rules.pools import Pool, parse_pools
from worker.settings import Settings
from worker.tables.connect import RedisClient
from worker.tables.redis import RedisTables
from worker.tables.tables import UNPOOLED, PoolTables


def load_pools(settings: Settings) -> dict[str, Pool]:
    """Return the configured pools; raises PoolsError with the line for a file that is wrong."""
    path = settings.pools_file or packaged("deploy/pools.toml")
    return parse_pools(path.read_text(encoding="utf-8"))


def open_tables(
    client: RedisClient, settings: Settings, pools: Mapping[str, Pool], run: str = "reader"
) -> dict[str, PoolTables]:
    """Return the tables of every pool, and those of what belongs to none."""
    kept_ms = {name: records_kept_ms(pool.rules) for name, pool in pools.items()} | {UNPOOLED: 0}
    return {name: RedisTables(client, settings.redis_namespace, name, run, kept) for name, kept in kept_ms.items()}
