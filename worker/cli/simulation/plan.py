"""Records that wait for their moment."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import orjson

from worker.cli.simulation.identities import Identity
from worker.cli.simulation.platforms import Event, Played
from worker.cli.simulation.scenario import IDENTITY_LINKED, MATCH_ANALYZED, MATCH_FINISHED, PRIZE_AWARDED, Kind

_KEYS = {
    MATCH_FINISHED: "match_id",
    MATCH_ANALYZED: "match_id",
    PRIZE_AWARDED: "tournament_id",
    IDENTITY_LINKED: "anonymous_id",
}


class Linked(NamedTuple):
    """Whom a link links, and in which pool."""

    pool: str
    identity: Identity


class Planned(NamedTuple):
    """A record that waits for its moment; `number` keeps the order of what shares a timestamp."""

    timestamp_ms: int
    number: int
    topic: str
    key: bytes
    value: bytes | None
    kind: Kind
    reason: str | None
    tells: Played | Linked | None


class Plan:
    """What is still to be published, in order of its timestamps."""

    def __init__(self, key: Literal["match", "pool"]) -> None:
        self._by_pool = key == "pool"
        self._planned: list[Planned] = []
        self._count = 0

    def add(
        self,
        at_ms: int,
        topic: str,
        key_event: Event,
        value: Event | bytes | None,
        *,
        kind: Kind,
        reason: str | None = None,
        tells: Played | Linked | None = None,
    ) -> None:
        """Plan a record that is keyed as `key_event` is; what shares the key of another stays behind it."""
        key = str(key_event["pool" if self._by_pool else _KEYS[topic]]).encode()
        written = orjson.dumps(value) if isinstance(value, dict) else value
        self._count += 1
        heappush(self._planned, Planned(at_ms, self._count, topic, key, written, kind, reason, tells))

    def until(self, now_ms: float) -> Iterator[Planned]:
        """Take out what is planned before that instant (UTC milliseconds)."""
        while self._planned and self._planned[0].timestamp_ms < now_ms:
            yield heappop(self._planned)
