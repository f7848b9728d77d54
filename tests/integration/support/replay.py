"""The naive replay: the causes of one pool, one by one in the order of their `position`, through the rules."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from aiokafka import ConsumerRecord

from worker.ratings.decide import decide
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import MatchAnalyzed
from worker.ratings.state import State
from worker.ratings.wire import Message, complete, messages
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.stream.apply import state_of
from worker.stream.decode import Decoded
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import Cause, Wanted


class Change(NamedTuple):
    """One `rating-changed` event as it was read, and what it says."""

    record: ConsumerRecord
    value: dict[str, Any]


class Replayed(NamedTuple):
    """What a pool must hold, and must have published for its rated matches and analyses, by `event_id`."""

    store: MemoryStore
    published: dict[str, Message]


Analyses = Mapping[tuple[str, int], Sequence[Decoded]]
"""Analyses of one pool by match_id and revision."""


def replay(
    pool: Pool, changes: Iterable[Change], matches: Mapping[str, Decoded], analyses: Analyses, prefix: str
) -> Replayed:
    """Apply every cause that the changes name, in the order of `position`. `matches` has the delivery of each match."""
    return asyncio.run(_replay(pool, changes, matches, analyses, prefix))


async def _replay(
    pool: Pool, changes: Iterable[Change], matches: Mapping[str, Decoded], analyses: Analyses, prefix: str
) -> Replayed:
    store = MemoryStore()
    one = _OneByOne(pool, MemoryTables(store, pool.name, "replay"), prefix)
    for cause, value in _in_order(changes):
        match = matches[cause["match_id"]]
        if cause["type"] == "match-analyzed":
            await one.apply(_naming(analyses, cause["match_id"], cause["revision"], match))
            continue
        if settled_by := value["details"].get("revision"):  # it was parked when the match came
            await one.apply(_naming(analyses, cause["match_id"], settled_by, match))
        await one.apply(match)
    return Replayed(store, one.published)


def _in_order(changes: Iterable[Change]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    by_position: dict[int, dict[str, Any]] = defaultdict(dict)
    for change in changes:
        by_position[change.value["position"]] = change.value
    return [(value["cause"], value) for _, value in sorted(by_position.items())]


def _naming(analyses: Analyses, match_id: str, revision: int, match: Decoded) -> Decoded:
    """Return the analysis of that revision that names the match's players."""
    assert isinstance(match.event, MatchFinished)
    pair = {match.event.winner.id, match.event.loser.id}
    for decoded in analyses[match_id, revision]:
        assert isinstance(decoded.event, MatchAnalyzed)
        if {player.id for player in decoded.event.players} == pair:
            return decoded
    raise AssertionError(f"nobody published revision {revision} of {match_id}")


class _OneByOne:
    def __init__(self, pool: Pool, tables: MemoryTables, prefix: str) -> None:
        self._pool = pool
        self._tables = tables
        self._prefix = prefix
        self.published: dict[str, Message] = {}

    async def apply(self, decoded: Decoded) -> None:
        rules, event = self._pool.rules, decoded.event
        assert event is not None, f"{decoded.delivery.source} was refused: {decoded.refusal}"
        if isinstance(event, MatchFinished):
            players = (event.winner.id, event.loser.id)
            games = [(player, event.finished_at_ms, event.match_id) for player in players]
        else:
            players, games = (event.players[0].id, event.players[1].id), []
        window_ms = rules.window_ms or 0
        loaded = await self._tables.load(
            Wanted(players, [event.match_id], games=games if window_ms else [], window_ms=window_ms)
        )
        state = state_of(loaded)
        outcome = decide(rules, event, decoded.delivery, state)
        answers = [
            message
            for message in messages(self._pool.name, outcome, self._prefix)
            if not message.topic.endswith(".dlt")  # of another analysis; that is looked at elsewhere
        ]
        prepared = self._tables.prepare([Cause(decoded.delivery.source, outcome, answers)])
        committed = await self._tables.commit(prepared)
        position = committed.positions[0]
        assert position is not None
        for message in answers:
            whole = complete(message, position)
            assert whole.value is not None
            self.published[orjson.loads(whole.value)["event_id"]] = whole


def exclusion(pool: Pool, match: Decoded, prefix: str) -> Message:
    """Return what has to be published for a match that does not count."""
    assert match.event is not None
    outcome = decide(pool.rules, match.event, match.delivery, State({}, {}, {}, {}))
    (message,) = messages(pool.name, outcome, prefix)
    return message


def as_delivery(record: ConsumerRecord) -> Delivery:
    """Return an input as the workers got it."""
    source = Source(record.topic, record.partition, record.offset)
    return Delivery(source, record.timestamp, record.key, record.value, record.headers)
