"""The tables of one pool, opened by a command that only reads."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import typer

from worker.cli.errors import fail
from worker.cli.words import shown_id
from worker.rules.pools import Pool
from worker.tables.tables import PoolTables

if TYPE_CHECKING:
    from worker.settings import Settings


class OpenPool(NamedTuple):
    """A configured pool and its tables, beside all pools and the settings."""

    pool: Pool
    tables: PoolTables
    pools: Mapping[str, Pool]
    settings: "Settings"


@asynccontextmanager
async def open_pool(name: str) -> AsyncIterator[OpenPool]:
    """Give the pool of that name as the settings have it; a name that is not configured ends in a sentence."""
    # Only what reads needs settings and Redis, and not who asks for help.
    from worker.settings import load_settings  # noqa: PLC0415
    from worker.stream.opening import load_pools, open_tables  # noqa: PLC0415
    from worker.tables.connect import connect  # noqa: PLC0415
    from worker.tables.registry import Registry  # noqa: PLC0415

    settings = load_settings()
    pools = load_pools(settings)
    pool = pool_named(name, pools)
    client = connect(settings.redis_url.get_secret_value(), password=settings.redis_secret)
    try:
        await Registry(client, settings.redis_namespace).pools()  # refuses tables of another format
        yield OpenPool(pool, open_tables(client, settings, pools)[name], pools, settings)
    finally:
        await client.aclose()


def pool_named(name: str, pools: Mapping[str, Pool]) -> Pool:
    """Return a configured pool; a name that is not configured ends in a sentence."""
    if name not in pools:
        fail(f"There is no pool {shown_id(name)}; the pools are {', '.join(pools)}.")
    return pools[name]


Id = TypeVar("Id", str, str | None)


def readable_id(identifier: Id) -> Id:
    """Return an id given on the command line; raise BadParameter for bytes that are not UTF-8, which no id has."""
    try:
        (identifier or "").encode()
    except UnicodeEncodeError:
        raise typer.BadParameter("the id is not UTF-8") from None
    return identifier
