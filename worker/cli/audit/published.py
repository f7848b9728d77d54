"""The records of `rating-changed`, put in the order of `position`; nothing that they say is taken for true."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from worker.cli.audit.difference import NOWHERE, Difference, First
from worker.cli.words import shown_id
from worker.ratings.delivery import Header

SIDES: Final = {"match-finished": 2, "match-analyzed": 2, "tournament-prize-awarded": 1, "identity-linked": 2}
"""How many players' events each kind of cause has."""

_DIGEST_BYTES: Final = 16
_encode = msgspec.msgpack.Encoder().encode


class Record(Protocol):
    """What is needed of a Kafka record."""

    @property
    def topic(self) -> str:
        """The topic's real name."""

    @property
    def partition(self) -> int:
        """The partition's number."""

    @property
    def offset(self) -> int:
        """The offset in it."""

    @property
    def timestamp(self) -> int:
        """UTC ms since 1970."""

    @property
    def key(self) -> bytes | None:
        """The key, byte for byte."""

    @property
    def value(self) -> bytes | None:
        """The value, byte for byte."""

    @property
    def headers(self) -> Sequence[Header]:
        """Names and values, in order."""


class Cause(Struct, frozen=True, gc=False):
    """The cause that an event names."""

    type: str
    match_id: str | None = None
    revision: int | None = None
    tournament_id: str | None = None
    place: int | None = None
    anonymous_id: str | None = None
    account_id: str | None = None

    def __str__(self) -> str:
        identifier = self.match_id or self.tournament_id or self.anonymous_id or "without an id"
        revision = "" if self.revision is None else f" revision {self.revision}"
        return f"{shown_id(self.type)} {shown_id(identifier)}{revision}"


class Details(Struct, frozen=True, gc=False):
    """Of the terms only the analysis that settled the match."""

    revision: int | None = None


class Named(Struct, frozen=True, gc=False):
    """What an event names, by which its input is looked for."""

    position: int
    player_id: str
    cause: Cause
    details: Details


class Published(Struct, frozen=True, gc=False):
    """One record of rating-changed, byte for byte."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: tuple[Header, ...]
    named: Named

    def digest(self) -> bytes:
        """Return what a repetition of it must have too."""
        return blake2b(_encode((self.key, self.value, self.headers)), digest_size=_DIGEST_BYTES).digest()

    def where(self) -> str:
        """Return its coordinates, for people."""
        return place(self.topic, self.partition, self.offset)


def place(topic: str, partition: int, offset: int) -> str:
    """Return the coordinates of a record, for people."""
    return f"{topic}/{partition} offset {offset}"


_named = msgspec.json.Decoder(Named).decode


def read(record: Record) -> Published | Difference:
    """Return the event that a record holds, or why it is none and has no place among the others."""
    where = place(record.topic, record.partition, record.offset)
    if record.value is None:
        return Difference(NOWHERE, f"{where} must hold an event of this pool, but has no value.")
    try:
        named = _named(record.value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Difference(NOWHERE, f"{where} must hold an event of this pool, but does not: {error}.")
    if named.position < 1:
        return Difference(NOWHERE, f"{where} must have a position from 1, but says {named.position}.")
    headers = tuple(record.headers)
    return Published(record.topic, record.partition, record.offset, record.key, record.value, headers, named)


class InOrder:
    """Hands out causes in the order of `position`, each once all its sides are there, and drops repeats.

    It keeps what is ahead, and of what it has handed out only digests, to tell a repeat from another event.
    """

    def __init__(self) -> None:
        self.next = 1
        self.highest = 0
        self.repeats = 0
        self._ahead: dict[int, dict[str, Published]] = {}
        self._digests = bytearray()

    def add(self, event: Published) -> Difference | None:
        """Take an event; return what is wrong if its place is taken by another one."""
        position = event.named.position
        if position < self.next:
            return self._repeated(event, self._kept(position))
        self.highest = max(self.highest, position)
        group = self._ahead.setdefault(position, {})
        twin = group.setdefault(event.named.player_id, event)
        return None if twin is event else self._repeated(event, [twin.digest()])

    def _repeated(self, event: Published, known: Sequence[bytes]) -> Difference | None:
        if event.digest() in known:
            self.repeats += 1
            return None
        named = event.named
        return Difference(
            named.position,
            f"Position {named.position} has events with other bytes already, but {event.where()} gives it to "
            f"{named.cause} of {shown_id(named.player_id)} too.",
        )

    def _kept(self, position: int) -> list[bytes]:
        at = (position - 1) * 2 * _DIGEST_BYTES
        kept = self._digests[at : at + 2 * _DIGEST_BYTES]
        return [bytes(kept[:_DIGEST_BYTES]), bytes(kept[_DIGEST_BYTES:])]

    def take(self) -> list[Published] | None:
        """Return the events of the next position, or None while some of them are not there yet."""
        group = self._ahead.get(self.next)
        if group is None:
            return None
        events = list(group.values())
        if len(events) < SIDES.get(events[0].named.cause.type, 1):
            return None
        del self._ahead[self.next]
        self.next += 1
        self._digests += b"".join([event.digest() for event in events[:2]]).ljust(2 * _DIGEST_BYTES, b"\0")
        return events

    def drop_from(self, position: int) -> None:
        """Forget what is ahead from a position on, which nobody will ask for."""
        for ahead in [ahead for ahead in self._ahead if ahead >= position]:
            del self._ahead[ahead]

    def missing(self, because: str | None = None) -> Difference:
        """Return what is missing at the next position, where nothing more will come; `because` says why it must."""
        group = self._ahead.get(self.next)
        if group is None:
            because = because or f"there are events up to position {self.highest}"
            return Difference(self.next, f"Position {self.next} has no event, but {because}.")
        event = next(iter(group.values()))
        return Difference(
            self.next,
            f"Position {self.next} ({event.named.cause}) must have an event of each of its players, but there is only "
            f"that of {shown_id(event.named.player_id)}.",
        )


class Ordered:
    """`rating-changed` of one pool, as it comes from any partitions in any order."""

    def __init__(self, pool: str, first: First) -> None:
        self.order = InOrder()
        self._first = first
        self._key = f"{pool}:".encode()
        self._says_pool = f'"pool":"{pool}"'.encode()

    def add(self, record: Record) -> int | None:
        """Take a record; return its position if it is an event of this pool."""
        if not (record.key or b"").startswith(self._key) and self._says_pool not in (record.value or b""):
            return None
        event = read(record)
        if isinstance(event, Difference):
            self._first.add(event)
            return None
        stop = self._first.difference
        position = event.named.position
        if stop is None or position < stop.position:
            self.wrong(self.order.add(event))
        return position

    def wrong(self, found: Difference | None) -> None:
        """Take note of a difference; what comes after it in order of position is of no interest any more."""
        if found is not None:
            self._first.add(found)
            self.order.drop_from(found.position)
