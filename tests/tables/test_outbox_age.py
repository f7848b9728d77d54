"""How long causes have been seen in the outbox, by whoever looks."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.contract.stores import Desk
from tests.ratings.ladder import AT, finished
from worker.tables.connect import RedisClient, connect
from worker.tables.outbox_age import MOST_WATCHED, OutboxAge
from worker.tables.redis import RedisTables
from worker.tables.tables import Marker, Partition

POOL = "gammon42"
WITHIN_S = 60

Look = Callable[[], Awaitable[float]]


def with_outbox(url: str, namespace: str, body: Callable[[Desk, Look], Awaitable[None]]) -> None:
    """Run `body` with a desk and a look by a worker that has just been started."""

    async def run() -> None:
        client: RedisClient = connect(url)

        async def look() -> float:
            return await OutboxAge(client, namespace, POOL).oldest_s()

        try:
            async with asyncio.timeout(WITHIN_S):
                await body(Desk(POOL, RedisTables(client, namespace, POOL, "run")), look)
        finally:
            await client.aclose()

    asyncio.run(run())


async def until_older(look: Look, than_s: float = 0) -> float:
    """Look until something waits for longer; return how long."""
    age_s = await look()
    while age_s <= than_s:
        age_s = await look()
    return age_s


async def settle(desk: Desk, *sources) -> None:
    reached = max(source.offset for source in sources) + 1
    await desk.tables.settle(sources, [Marker(Partition("match-finished", 0), reached, AT)])


def test_it_grows_while_a_cause_waits_whoever_looks_and_ends_when_it_is_settled(redis_server, namespace):
    async def body(desk: Desk, look: Look) -> None:
        assert await look() == 0
        [cause] = await desk.decide(finished(POOL, "m-1", "ann", "bob"))
        await desk.commit([cause])
        first = await until_older(look)
        await until_older(look, than_s=first)
        await settle(desk, cause.source)
        assert await look() == 0

    with_outbox(redis_server.url, namespace, body)


def test_one_that_stays_is_the_oldest_while_others_come_and_go(redis_server, namespace):
    async def body(desk: Desk, look: Look) -> None:
        causes = await desk.decide(*(finished(POOL, f"m-{n}", f"ann-{n}", f"bob-{n}") for n in range(5)))
        await desk.commit(causes)
        age_s = await until_older(look)
        for n in range(5, 10):
            more = await desk.decide(finished(POOL, f"m-{n}", f"ann-{n}", f"bob-{n}"))
            await desk.commit(more)
            age_s = await until_older(look, than_s=age_s)
            # another worker's partition: its marker does not pass the one that stays
            await desk.tables.settle([more[0].source], [])
        await settle(desk, *(cause.source for cause in causes))
        assert await look() == 0

    with_outbox(redis_server.url, namespace, body)


def test_one_that_stays_is_found_among_more_than_are_watched(redis_server, namespace):
    async def body(desk: Desk, look: Look) -> None:
        [stays] = await desk.decide(finished(POOL, "stays", "ann", "bob"))
        await desk.commit([stays])
        seen_s, turn = 0.0, 0
        while seen_s == 0:
            ids = [f"{turn}-{n}" for n in range(2 * MOST_WATCHED)]
            others = await desk.decide(*(finished(POOL, f"m-{one}", f"a-{one}", f"b-{one}") for one in ids))
            await desk.commit(others)
            await look()
            await desk.tables.settle([cause.source for cause in others], [])
            seen_s = await look()
            turn += 1
        assert await until_older(look, than_s=seen_s) > seen_s

    with_outbox(redis_server.url, namespace, body)
