"""An input as Kafka delivered it: where it stands, when it was written, its bytes."""

from collections.abc import Sequence

from msgspec import Struct


class Source(Struct, frozen=True, gc=False, array_like=True):
    """Coordinates of a record: the topic's real name (with any prefix), partition and offset."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """Return the field name under which the tables know this record; topic names hold no space and no slash."""
        return f"{self.topic}/{self.partition}/{self.offset}"


class Delivery(Struct, frozen=True, gc=False, array_like=True):
    """One input record, byte for byte. `timestamp_ms` is the record's timestamp, UTC milliseconds since 1970."""

    source: Source
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
