"""Ends that are not in good order."""

import asyncio

from tests.integration.support.reading import forget, members, tables
from tests.integration.support.site import Site, Worker


def kill_and_forget(site: Site, worker: Worker) -> int:
    """SIGKILL the group's only member and have Kafka forget it; return how many causes it left unsettled."""
    worker.kill()
    forget_everybody(site)
    return asyncio.run(unsettled(site))


def forget_everybody(site: Site) -> None:
    """Have Kafka forget the group's members, which are all dead."""
    asyncio.run(_forget_all(site))


async def _forget_all(site: Site) -> None:
    await forget(site, await members(site))


async def unsettled(site: Site) -> int:
    """Return how many causes are committed and not settled, over all pools."""
    async with tables(site) as all_tables:
        return sum([await table.outbox_size() for table in all_tables.values()])
