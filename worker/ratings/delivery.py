"""An input as Kafka delivered it: where it stands, when it was written, its bytes."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

Header = tuple[str, bytes | None]
"""A header's name and value; Kafka allows a value of null, an empty name, and a name more than once."""


class Source(Struct, frozen=True, gc=False, array_like=True):
    """Coordinates of a record: the topic's real name (with any prefix), partition and offset."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """Return the field name under which the tables know this record; topic names hold no space and no slash."""
        return f"{self.topic}/{self.partition}/{self.offset}"


class Unreadable(bytes):
    """The value, of no bytes, of a record that Kafka's client cannot read: neither key nor headers are known of it.

    `why` says in one sentence what could not be read.
    """

    why: str

    def __new__(cls, why: str) -> Self:
        """Return the value of a record that cannot be read for this reason."""
        value = super().__new__(cls)
        value.why = why
        return value


class Delivery(Struct, frozen=True, gc=False, array_like=True):
    """One input record, byte for byte, its value Unreadable where Kafka's client could not make it out.

    `timestamp_ms` is the record's timestamp, UTC milliseconds since 1970: -1 where it has none, else any 64-bit number.
    """

    source: Source
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()
