"""The tables in a Redis Cluster of three masters whose slots move while two writers are at work."""

import asyncio
import inspect
import random
import time
from typing import Any

import redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from tests.contract.stores import WINDOW_MS, Desk
from tests.integration.test_writers import shares
from tests.integration.writing.history import check_chains, check_replay, check_tables, first_occurrences
from tests.integration.writing.traffic import Log, traffic
from tests.integration.writing.writers import Broker, Writer
from tests.ratings.ladder import AT, HOUR, POOLS, analyzed, finished
from tests.servers.process import PATIENCE_S
from tests.servers.redis_cluster import RedisCluster
from worker.ratings.delivery import Source
from worker.stream.retry import is_transient
from worker.tables.connect import connect
from worker.tables.redis import RedisTables
from worker.tables.tables import PAGE_MAX, Around, Marker, Page, Partition

POOL = "gammon42"


class Persistent:
    """Tables that try again while the cluster is in between (MOVED, ASK, TRYAGAIN, CLUSTERDOWN)."""

    def __init__(self, tables: RedisTables, refusals: set[str]) -> None:
        self._tables = tables
        self._refusals = refusals

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tables, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def persistently(*arguments: Any) -> Any:
            deadline = time.monotonic() + PATIENCE_S
            while True:
                try:
                    return await method(*arguments)
                except RedisError as error:
                    self._refusals.add(type(error).__name__)
                    assert is_transient(error), repr(error)
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(0.01)

        return persistently


async def keep_moving(cluster: RedisCluster, slot: int, chance: random.Random, stopped: asyncio.Event) -> int:
    """Move the slot to the next node, key by key, again and again; return how often.

    Now and then it stays half moved for longer than a client tries again on its own.
    """
    moves = 0
    while not stopped.is_set():
        to = (cluster.owner(slot) + 1) % 3
        cluster.begin_move(slot, to)
        pauses = iter([chance.choice([0, 0, 0, 0.7])])
        moved = 1
        while moved:
            moved = await asyncio.to_thread(cluster.move_keys, slot, to, 3)
            await asyncio.sleep(next(pauses, 0))
        await asyncio.to_thread(cluster.finish_move, slot, to)
        moves += 1
        await asyncio.sleep(0.02)
    return moves


async def read_pages(tables: Persistent, stopped: asyncio.Event) -> int:
    """Read the leaderboard again and again; return how many pages had players, each of which must be of one instant."""
    pages = 0
    while not stopped.is_set():
        whole: Page = await tables.leaderboard(1, PAGE_MAX)
        around: Around = await tables.around("p-0", PAGE_MAX)
        for page in (whole, around.page):
            order = [(-place.row.rating, place.player_id.encode()) for place in page.places]
            assert order == sorted(order)
            assert len(order) == page.players or (page is around.page and around.rank is None)
            pages += page.players > 0
        if around.rank is not None:
            assert around.page.places[around.rank - 1] == (around.rank, "p-0", around.row)
        await asyncio.sleep(0.005)
    return pages


def test_no_cause_is_written_by_half_while_slots_move(redis_cluster, namespace):
    chance = random.Random(11)
    log = traffic(POOL, 200, chance).log(2, chance)
    slot = key_slot(f"{{{POOL}}}".encode())
    refusals: set[str] = set()

    async def write(share: Log, number: int) -> None:
        client = connect(redis_cluster.url)
        tables = Persistent(RedisTables(client, namespace, POOL, f"run-{number}"), refusals)
        broker = Broker(client, f"{namespace}:broker")
        await Writer(POOL, tables, broker, random.Random(number)).work(share)
        await client.aclose()

    async def read(stopped: asyncio.Event) -> int:
        client = connect(redis_cluster.url)
        pages = await read_pages(Persistent(RedisTables(client, namespace, POOL, "reader"), refusals), stopped)
        await client.aclose()
        return pages

    async def all_of_it() -> tuple[int, int]:
        stopped = asyncio.Event()
        moving = asyncio.create_task(keep_moving(redis_cluster, slot, chance, stopped))
        reading = asyncio.create_task(read(stopped))
        await asyncio.gather(*(write(share, number) for number, share in enumerate(shares(log, 2))))
        stopped.set()
        return await moving, await reading

    moves, pages = asyncio.run(all_of_it())
    assert moves > 3, "the slot hardly moved: this test shows nothing"
    assert pages > 3, "the leaderboard was hardly read: this test shows nothing"
    assert refusals, "nothing was ever refused: this test shows nothing"
    asyncio.run(audit(redis_cluster.url, namespace, log))


async def audit(url: str, namespace: str, log: Log) -> None:
    client = connect(url)
    tables = RedisTables(client, namespace, POOL, "audit")
    changes = first_occurrences(await Broker(client, f"{namespace}:broker").published("rating-changed"))
    newest = check_chains(changes, POOLS[POOL].rules.starting_rating)
    await check_tables(tables, newest, log)
    await check_replay(tables, changes, log, POOL)
    await client.aclose()


def keys_by_slot(cluster: RedisCluster, namespace: str) -> dict[int, set[bytes]]:
    """Return every key of these tests that any node holds, by slot."""
    found: dict[int, set[bytes]] = {}
    for node in cluster.nodes:
        with redis.Redis(port=node.port) as client:
            for key in client.scan_iter(f"{namespace}:*", count=1_000):
                found.setdefault(key_slot(key), set()).add(key)
    return found


def test_all_keys_of_a_pool_are_in_one_slot_whatever_ids_it_is_sent(redis_cluster, namespace):
    ids = ["{x}", "}{", "{}", "a:{b}:c", "\U0001f3b2{"]

    async def send() -> None:
        client = connect(redis_cluster.url)
        for pool in ("gammon42", "blitzgammon"):
            desk = Desk(pool, RedisTables(client, namespace, pool, "run"))
            for name in ids:
                await desk.send(finished(pool, name, name, "bob"))
                await desk.send(analyzed(pool, f"{name} waits", (1.0, 2.0), players=(name, "bob")))
            page = await desk.tables.leaderboard(1, PAGE_MAX)
            assert {place.player_id for place in page.places} == {*ids, "bob"}
            for place in page.places:
                found = await desk.tables.around(place.player_id, PAGE_MAX)
                assert found == (place.rank, place.row, page)
            await desk.tables.raise_horizon(AT + 1)
            await desk.tables.settle([Source("match-finished", 0, 0)], [Marker(Partition("match-finished", 0), 1, AT)])
            await desk.prune()
        await client.aclose()

    asyncio.run(send())
    slots = keys_by_slot(redis_cluster, namespace)
    assert slots.keys() == {key_slot(b"{gammon42}"), key_slot(b"{blitzgammon}")}
    assert {key.split(b":")[1] for keys in slots.values() for key in keys} == {b"{gammon42}", b"{blitzgammon}"}
    windows = {key.split(b":window:")[1].decode() for key in slots[key_slot(b"{gammon42}")] if b":window:" in key}
    assert windows == {*ids, "bob"}


def test_pruning_leaves_nothing_behind_in_any_node(redis_cluster, namespace):
    async def send() -> None:
        client = connect(redis_cluster.url)
        desk = Desk(POOL, RedisTables(client, namespace, POOL, "run"))
        await desk.send(*(finished(POOL, f"m-{n}", f"p-{n}", "{bob}", at=AT + n * HOUR) for n in range(5)))
        for horizon_ms in (AT + HOUR + 1, AT + 5 * HOUR, AT + WINDOW_MS + 5 * HOUR):
            await desk.tables.raise_horizon(horizon_ms)
            await desk.prune()
        await client.aclose()

    asyncio.run(send())
    [keys] = keys_by_slot(redis_cluster, namespace).values()
    left = {key.decode().rsplit(":", 1)[1] for key in keys}
    assert left == {"players", "leaderboard", "position", "horizon", "outbox", "heads"}
