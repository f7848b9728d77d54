"""One pool's store, in memory or in Redis, with two workers on it, and what the tests send through them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from tests.ratings.ladder import POOLS, SECOND, finished, instant_of, topic_of
from worker.ratings.analysis import records_kept_ms
from worker.ratings.decide import decide
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event
from worker.ratings.outcome import Outcome
from worker.ratings.wire import messages
from worker.rules.ruleset import Rating
from worker.stream.apply import state_of, wanted_for
from worker.stream.decode import Decoded
from worker.tables.connect import connect
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.redis import RedisTables
from worker.tables.tables import Cause, Committed, Loaded, PoolTables, Pruned, Wanted


@dataclass
class Desk:
    """A worker's way with one pool, one step at a time."""

    pool: str
    tables: PoolTables
    offsets: "count[int]" = field(default_factory=count)

    def delivery(self, event: Event, timestamp_ms: int | None = None) -> Delivery:
        """Return the event as the next record of its topic's partition 0; no two desks of a store share offsets."""
        source = Source(topic_of(event), 0, next(self.offsets))
        written = instant_of(event) + SECOND if timestamp_ms is None else timestamp_ms
        value = orjson.dumps({"id": getattr(event, "match_id", topic_of(event))})
        return Delivery(source, written, b"k", value, [("h", b"v"), ("h", None), ("", b"\x00\xff")])

    async def decide(self, *events: Event) -> list[Cause]:
        """Load and decide, so that a test can let something happen before the commit."""
        rules = POOLS[self.pool].rules
        loaded = await self.tables.load(wanted(self.pool, events))
        state = state_of(loaded)
        causes = []
        for event in events:
            delivery = self.delivery(event)
            outcome = decide(rules, event, delivery, state)
            causes.append(Cause(delivery.source, outcome, messages(self.pool, outcome, "")))
        return causes

    async def decide_one(self, event: Event, delivery: Delivery) -> Outcome:
        """Load what one event needs and decide it, as this delivery."""
        return decide(
            POOLS[self.pool].rules, event, delivery, state_of(await self.tables.load(wanted(self.pool, [event])))
        )

    async def send(self, *events: Event) -> list[Outcome]:
        """Load, decide and commit; nothing may be stale."""
        causes = await self.decide(*events)
        committed = await self.commit(causes)
        assert None not in committed.positions
        return [cause.outcome for cause in causes]

    async def write_rating(self, player_id: str, rating: Rating, opponent: str) -> None:
        """Write a row of that rating, as a first match onto the leaderboard would; the opponent gets none."""
        match = finished(self.pool, f"to {player_id}", player_id, opponent, length=10)
        [cause] = await self.decide(match)
        row = replace(cause.outcome.rows[0][1], rating=rating)
        outcome = replace(cause.outcome, rows=((player_id, row, None),))
        assert None not in (await self.commit([replace(cause, outcome=outcome)])).positions

    async def commit(self, causes: Sequence[Cause]) -> Committed:
        return await self.tables.commit(self.tables.prepare(causes))

    async def load(self, *events: Event, **more: object) -> Loaded:
        return await self.tables.load(wanted(self.pool, events)._replace(**more))

    async def prune(self) -> Pruned:
        """Prune until there is no more to remove; return the sums."""
        sums = (0, 0, 0)
        for _ in range(10_000):
            step = await self.tables.prune(WINDOW_MS)
            sums = tuple(one + other for one, other in zip(sums, step[1:], strict=True))
            if not step.more:
                return Pruned(False, *sums)
        raise AssertionError("there was always more")


WINDOW_MS = 168 * 3_600_000


def wanted(pool: str, events: Sequence[Event]) -> Wanted:
    """Return all that deciding these events needs."""
    delivery = Delivery(Source("", 0, 0), 0, None, None)
    needs = wanted_for(POOLS[pool], [Decoded(delivery, event, pool, None, 0) for event in events])
    return needs._replace(sources=(), partitions=())


Body = Callable[[Desk, Desk], Awaitable[None]]


class Store(NamedTuple):
    """Where two workers, `here` and `there`, meet. `url` is None for the twin in memory."""

    url: str | None
    namespace: str

    def run(self, body: Body, pool: str) -> None:
        asyncio.run(self._in_memory(body, pool) if self.url is None else self._in_redis(self.url, body, pool))

    async def _in_memory(self, body: Body, pool: str) -> None:
        store, offsets = MemoryStore(), count()
        kept_ms = records_kept_ms(POOLS[pool].rules)
        here, there = (Desk(pool, MemoryTables(store, pool, run, kept_ms), offsets) for run in ("run-1", "run-2"))
        await body(here, there)

    async def _in_redis(self, url: str, body: Body, pool: str) -> None:
        client, offsets = connect(url), count()
        here, there = (
            Desk(pool, RedisTables(client, self.namespace, pool, run, records_kept_ms(POOLS[pool].rules)), offsets)
            for run in ("run-1", "run-2")
        )
        try:
            await body(here, there)
        finally:
            await client.aclose()


def contract(pool: str) -> Callable[[Body], Callable[[Store], None]]:
    """Make a test of one that takes two workers on one store of `pool`, run on every kind of store."""

    def wrap(body: Body) -> Callable[[Store], None]:
        def on_store(store: Store) -> None:
            store.run(body, pool)

        on_store.__name__ = body.__name__
        on_store.__doc__ = body.__doc__
        return on_store

    return wrap
