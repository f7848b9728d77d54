"""One audit of one pool, with the servers that the settings name."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from rich.console import Console

from worker.cli.audit.difference import Difference, First
from worker.cli.audit.fates import Fate, Fates, fates
from worker.cli.audit.held import Comparison
from worker.cli.audit.inputs import Inputs
from worker.cli.audit.letters import answered_as_unknown_pool
from worker.cli.audit.reading import CHANGED, PATIENCE_S, Reading
from worker.cli.audit.run import Audit
from worker.cli.audit.show import Bars, shown_bars
from worker.cli.audit.topics import open_topics
from worker.rules.pools import Pool
from worker.settings import Settings
from worker.stream.inputs import INPUTS
from worker.stream.redis import open_redis
from worker.tables.pieces import Pieces
from worker.tables.registry import Registry

_JUDGE_EVERY_S: Final = 0.5


class Report(NamedTuple):
    """What an audit has seen of a pool, and the first difference in order of position (None: there is none).

    `fates` says how many inputs had each fate, where only the topics were read; `in_flight` counts causes that are
    committed and were not published by then.
    """

    pool: str
    from_topics: bool
    matches: int
    changes: int
    players: int
    positions: int
    in_flight: int
    fates: Counter[Fate]
    seconds: float
    difference: Difference | None


async def audit_topics(settings: Settings, pool: Pool, pools: Mapping[str, Pool], console: Console) -> Report:
    """Audit a pool from what an outsider may read: the inputs and `rating-changed`. No Redis is asked for anything.

    `pools` are all that are configured; progress is shown on `console` if it is a terminal. Raises SettingsError where
    a topic is missing and KafkaAwayError or a KafkaError where Kafka is away.
    """
    began = time.monotonic()
    async with AsyncExitStack() as ends:
        reading = await _open(settings, pool, pools, ends.enter_context(shown_bars(console)), None, ends)
        first, judged = First(), Fates(Counter(), None)
        await reading.all_published()
        first.add(reading.audit.first.difference)
        if first.difference is None:
            judged = await _judged(reading, settings)
            first.add(reading.audit.first.difference)
            first.add(judged.difference)
        return _report(reading, first, judged.counts, began, from_topics=True)


async def audit_all(settings: Settings, pool: Pool, pools: Mapping[str, Pool], console: Console) -> Report:
    """Audit a pool's topics and, if they are right, all that Redis holds of it.

    Raises what `audit_topics` and `open_redis` do, and FormatError for tables of another layout.
    """
    began = time.monotonic()
    async with AsyncExitStack() as ends:
        client = await ends.enter_async_context(open_redis(settings))
        await Registry(client, settings.redis_namespace).pools()  # refuses tables of another format
        bars = ends.enter_context(shown_bars(console))
        pieces = Pieces(client, settings.redis_namespace, pool.name)
        reading = await _open(settings, pool, pools, bars, pieces, ends)
        first = First()
        await reading.all_published()
        if not reading.audit.stopped:
            first.add(await Comparison(reading, pieces, bars).difference())
        first.add(reading.audit.first.difference)
        return _report(reading, first, Counter(), began, from_topics=False)


async def _open(
    settings: Settings,
    pool: Pool,
    pools: Mapping[str, Pool],
    bars: Bars,
    pieces: Pieces | None,
    ends: AsyncExitStack,
) -> Reading:
    inputs = Inputs(pool, pools, settings.topic_prefix, timed=pieces is None)
    topics = await ends.enter_async_context(open_topics(settings, (*INPUTS, CHANGED)))
    return Reading(topics, inputs, Audit(pool, inputs, settings.topic_prefix), bars, pieces)


async def _judged(reading: Reading, settings: Settings) -> Fates:
    """Judge every input, waiting a while for the answer of one that should have it: a worker may be at it.

    Dead letters are read only where one has no other answer.
    """
    audit = reading.audit
    found = fates(audit.replay, reading.inputs)
    if found.difference is None:
        return found
    unknown_pool = await answered_as_unknown_pool(settings)
    moved_at = time.monotonic()
    while True:
        found = fates(audit.replay, reading.inputs, unknown_pool)
        if found.difference is None or audit.stopped or time.monotonic() - moved_at > PATIENCE_S:
            return found
        await asyncio.sleep(_JUDGE_EVERY_S)
        stood = audit.position
        await reading.read_on()
        if audit.position > stood:
            moved_at = time.monotonic()


def _report(reading: Reading, first: First, judged: Counter[Fate], began: float, *, from_topics: bool) -> Report:
    replay = reading.audit.replay
    return Report(
        replay.pool.name,
        from_topics,
        len(replay.records),
        replay.changes,
        len(replay.rows),
        replay.position,
        len(reading.in_flight),
        judged,
        time.monotonic() - began,
        first.difference,
    )
