"""Events as publishers send them, and what `explain --event` makes of one after others, without any Redis."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

import orjson

from tests.ratings.ladder import AT, HOUR, POOLS, SECOND, instant_of, topic_of
from worker.cli.explain.event import judge
from worker.cli.explain.told import Published, Told
from worker.cli.reading import OpenPool
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event, MatchAnalyzed
from worker.ratings.instants import format_instant
from worker.rules.match import MatchFinished, Player
from worker.settings import Settings
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoded
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import Marker, Partition

LATER = AT + 2 * HOUR


def as_sent(event: Event, **changed: Any) -> bytes:
    """Return an event as its publisher writes it."""
    return orjson.dumps({**_fields(event), **changed})


def _fields(event: Event) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(event, name) for name in event.__struct_fields__}
    for name in [name for name in fields if name.endswith("_ms")]:
        fields[name.removesuffix("_ms")] = format_instant(fields.pop(name))
    if isinstance(event, MatchFinished):
        fields = {name: value for name, value in fields.items() if value is not None}
        fields |= {"winner": _player(event.winner), "loser": _player(event.loser)}
    if isinstance(event, MatchAnalyzed):
        fields["players"] = [{"player_id": player.id, "pr": player.pr} for player in event.players]
    return fields


def _player(player: Player) -> dict[str, Any]:
    return {"player_id": player.id, "kind": player.kind, "pr": player.pr}


def ask(
    pool: str,
    known: Sequence[Event],
    event: Event | bytes,
    *,
    identifier: str = "m-1",
    published_at: int | None = LATER,
    horizon_ms: int = 0,
) -> Told | str:
    """Return what an event is to what is known of the pool after these."""
    value = event if isinstance(event, bytes) else as_sent(event)
    return asyncio.run(_ask(pool, known, value, identifier, published_at, horizon_ms))


async def _ask(
    pool: str, known: Sequence[Event], value: bytes, identifier: str, published_at: int | None, horizon_ms: int
) -> Told | str:
    tables = MemoryTables(MemoryStore(), pool, "reader")
    offsets = count()
    for one in known:
        delivery = Delivery(Source(topic_of(one), 0, next(offsets)), instant_of(one) + SECOND, b"key", b"{}")
        decoded = Decoded(delivery, one, pool, None, instant_of(one))
        await apply(Target(pool, POOLS[pool], tables, ""), [decoded], Progress(0, {}))
    await tables.begin([Marker(Partition("match-finished", 0), 0, 0)])
    await tables.raise_horizon(horizon_ms)
    opened = OpenPool(POOLS[pool], tables, POOLS, Settings())
    published = Published(LATER if published_at is None else published_at, given=published_at is not None)
    return await judge(opened, identifier, value, published)


def says(told: Told | str) -> list[str]:
    """Return the sentences of an answer, which must be one."""
    assert isinstance(told, Told)
    return list(told.says)
