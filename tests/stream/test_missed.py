"""Pools that were not known to whoever read a partition."""

import asyncio
from itertools import count

import orjson

from tests.contract.stores import Desk
from tests.ratings.ladder import finished
from worker.stream.missed import catch_up
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import UNPOOLED, Marker, Partition

MATCHES = Partition("match-finished", 0)
OTHERS = Partition("match-finished", 1)


class Readers:
    def __init__(self, **pools):
        self._pools = pools

    async def readers(self):
        return {partition: self._pools[name] for partition, name in ((MATCHES, "matches"), (OTHERS, "others"))}


class Ground:
    """A pool and what belongs to none, side by side in memory; `published` are the values published."""

    def __init__(self):
        self.tables = {name: MemoryTables(MemoryStore(), name, "run-2") for name in ("season0", UNPOOLED)}
        self.desk = Desk("season0", self.tables["season0"], count(3))
        self.published = []

    async def publish(self, messages):
        self.published += [orjson.loads(message.value) for message in messages]

    async def begin(self, **applied):
        for name, at in (("season0", applied["pool"]), (UNPOOLED, applied["unpooled"])):
            await self.tables[name].settle([], [Marker(MATCHES, at, 7), Marker(OTHERS, at, 7)])

    async def catch_up(self, **readers):
        await catch_up([MATCHES, OTHERS], self.tables, Readers(**readers), self.publish)
        return {name: marker[1:3] for name, marker in (await self.tables["season0"].markers()).items()}


def on_ground(body):
    def test():
        asyncio.run(body(Ground()))

    test.__name__ = body.__name__
    return test


KNOWN, UNKNOWN = frozenset({"season0", "nardeon"}), frozenset({"nardeon"})


@on_ground
async def test_a_marker_moves_over_what_was_read_by_a_worker_that_did_not_know_the_pool(ground):
    await ground.begin(pool=3, unpooled=9)
    assert await ground.catch_up(matches=UNKNOWN, others=KNOWN) == {MATCHES: (9, 7), OTHERS: (3, 7)}
    assert ground.published == []


@on_ground
async def test_a_pool_that_everybody_knew_is_not_moved(ground):
    await ground.begin(pool=3, unpooled=9)
    assert await ground.catch_up(matches=KNOWN, others=KNOWN) == {MATCHES: (3, 7), OTHERS: (3, 7)}


@on_ground
async def test_a_marker_never_moves_back(ground):
    await ground.begin(pool=12, unpooled=9)
    assert await ground.catch_up(matches=UNKNOWN, others=UNKNOWN) == {MATCHES: (12, 7), OTHERS: (12, 7)}


@on_ground
async def test_what_the_pool_had_committed_before_it_was_left_out_is_published(ground):
    await ground.begin(pool=3, unpooled=5)
    await ground.desk.send(*(finished("season0", f"m-{offset}", "ann", "bob") for offset in range(3, 7)))
    await ground.catch_up(matches=UNKNOWN, others=KNOWN)
    # 5 and 6 will be read again, and published then.
    assert [(value["cause"]["match_id"], value["player_id"]) for value in ground.published] == [
        ("m-3", "ann"),
        ("m-3", "bob"),
        ("m-4", "ann"),
        ("m-4", "bob"),
    ]
    assert sorted(source.offset for source in await ground.tables["season0"].unsettled()) == [5, 6]
