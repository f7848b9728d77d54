"""The inputs of one pool, kept small, by the cause that they can be."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson
from msgspec.msgpack import Decoder as Unpacker
from msgspec.msgpack import Encoder

from worker.cli.audit.published import Record
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.stream.decode import Decoder
from worker.stream.inputs import INPUTS

_pack = Encoder().encode

_EVENTS: Final[Mapping[str, Any]] = {
    "match-finished": MatchFinished,
    "match-analyzed": MatchAnalyzed,
    "tournament-prize-awarded": TournamentPrizeAwarded,
    "identity-linked": IdentityLinked,
}


class Input(NamedTuple):
    """An accepted input: what passed every check that needs no state. Its delivery has no bytes."""

    event: Event
    delivery: Delivery


class Inputs:
    """Every input of one pool that was accepted and is not yet known to be a cause."""

    def __init__(self, pool: Pool, pools: Mapping[str, Pool], topic_prefix: str, *, timed: bool = False) -> None:
        """Prepare; `timed` keeps the timestamp of every record, as `newest_before` needs."""
        self._pool = pool.name
        self._name = pool.name.encode()
        self._kinds = {topic_prefix + kind: kind for kind in INPUTS}
        self._decoders = {kind: Decoder(kind, pools) for kind in INPUTS}
        self._unpackers = {kind: _unpacker(kind) for kind in INPUTS}
        self._by_cause: dict[str, dict[Hashable, bytes | list[bytes]]] = {kind: {} for kind in INPUTS}
        self.places: list[tuple[str, int]] = []
        """Topic and partition of every place; the rest of this module knows them by number."""
        self._numbers: dict[tuple[str, int], int] = {}
        self._timed = timed
        self._offsets: list[array[int]] = []
        self._newest: list[array[int]] = []
        self.refused: Counter[tuple[str, str]] = Counter()
        """Inputs of this pool that the decoder refuses, by kind and reason."""

    def add(self, record: Record) -> None:
        """Take a record of an input topic."""
        number = self._number(record)
        value = record.value
        # JSON can write a pool's name only as it is or with an escape.
        if not value or (self._name not in value and b"\\" not in value):
            return
        kind = self._kinds[record.topic]
        source = Source(record.topic, record.partition, record.offset)
        decoded = self._decoders[kind].decode(Delivery(source, record.timestamp, None, value))
        if decoded.event is None:
            if decoded.refusal is not None and self._pool in (decoded.pool, _pool_named(value)):
                self.refused[kind, decoded.refusal.reason.value] += 1
        elif decoded.pool == self._pool:
            packed = _pack((number, record.offset, record.timestamp, decoded.event))
            _append(self._by_cause[kind], cause_of(decoded.event), packed)

    def _number(self, record: Record) -> int:
        place = (record.topic, record.partition)
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self.places)
            self.places.append(place)
            self._offsets.append(array("q"))
            self._newest.append(array("q"))
        if self._timed:
            newest = self._newest[number]
            newest.append(max(record.timestamp, newest[-1]) if newest else record.timestamp)
            self._offsets[number].append(record.offset)
        return number

    def number_of(self, source: Source) -> int:
        """Return the number of an input's place."""
        return self._numbers[source.topic, source.partition]

    def of(self, kind: str, cause: Hashable) -> list[Input]:
        """Return the accepted inputs that can be this cause, in order of topic, partition and offset."""
        there = self._by_cause[kind].get(cause)
        if there is None:
            return []
        unpack = self._unpackers[kind].decode
        if not isinstance(there, list):
            return [self._input(*unpack(there))]
        return sorted([self._input(*unpack(packed)) for packed in there], key=_coordinates)

    def _input(self, number: int, offset: int, timestamp_ms: int, event: Event) -> Input:
        return Input(event, Delivery(Source(*self.places[number], offset), timestamp_ms, None, None))

    def drop(self, kind: str, used: Input) -> None:
        """Forget an input that is known to be a cause."""
        cause = cause_of(used.event)
        there = self._by_cause[kind].pop(cause)
        if not isinstance(there, list):
            return
        unpack, source = self._unpackers[kind].decode, used.delivery.source
        left = []
        for packed in there:
            number, offset, _, _ = unpack(packed)
            if (*self.places[number], offset) != (source.topic, source.partition, source.offset):
                left.append(packed)
        if left:
            self._by_cause[kind][cause] = left

    def left(self, kind: str) -> Iterator[list[Input]]:
        """Yield what is no cause, all inputs of one id together."""
        for cause in self._by_cause[kind]:
            yield self.of(kind, cause)

    def newest_before(self, number: int, offset: int | None) -> int:
        """Return the newest timestamp of a place's records before an offset (None: of all), -1 where there is none."""
        newest = self._newest[number]
        count = len(newest) if offset is None else bisect_left(self._offsets[number], offset)
        return newest[count - 1] if count else -1


def cause_of(event: Event) -> Hashable:
    """Return by what a cause of this event's kind is known: the ids that its events name."""
    if isinstance(event, MatchFinished):
        return event.match_id
    if isinstance(event, MatchAnalyzed):
        return (event.match_id, event.revision)
    if isinstance(event, TournamentPrizeAwarded):
        return (event.tournament_id, event.player_id)
    return event.anonymous_id


def _unpacker(kind: str) -> Unpacker[Any]:
    event: Any = _EVENTS[kind]
    return Unpacker(tuple[int, int, int, event])


def _coordinates(candidate: Input) -> tuple[str, int, int]:
    source = candidate.delivery.source
    return source.topic, source.partition, source.offset


def _append(by_cause: dict[Hashable, bytes | list[bytes]], cause: Hashable, packed: bytes) -> None:
    there = by_cause.setdefault(cause, packed)
    if there is packed:
        return
    if isinstance(there, list):
        there.append(packed)
    else:
        by_cause[cause] = [there, packed]


def _pool_named(value: bytes) -> str | None:
    try:
        raw = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    name = raw.get("pool") if isinstance(raw, dict) else None
    return name if isinstance(name, str) else None
