"""Fetched records, with a stand-in for each that aiokafka cannot read, so that its neighbours are read as ever.

Where one record of a batch cannot be read, aiokafka reads none of the batch, and never gets past it. A record whose
layout is lost takes with it those behind it in its batch: where they begin is unknown.

It leans on private names of aiokafka 0.14; tests/stream/test_unreadable.py fails if one moves.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import lt
from typing import Any, Final, NamedTuple

from aiokafka.codec import gzip_decode, lz4_decode, snappy_decode, zstd_decode
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import decode_varint

from worker.ratings.delivery import Header, Unreadable

_LENGTH_AT: Final = 8
_LENGTH_COUNTS_FROM: Final = 12
_ATTRIBUTES_AT: Final = 21
_COUNT_AT: Final = 57
_HEAD_BYTES: Final = 61
_CREATE_TIME: Final = 0
_LARGEST_BYTES: Final = 16 * 1024 * 1024
"""Of a record, decompressed: more than its topic takes, less than would stop a client of Redis or Kafka."""

_DECOMPRESS: Final[dict[int, tuple[str, Callable[[bytes], bytes]]]] = {
    1: ("gzip", gzip_decode),
    2: ("snappy", snappy_decode),
    3: ("lz4", lz4_decode),
    4: ("zstd", zstd_decode),
}
_FORMAT: Final = "The record must be laid out as Kafka's record format says, but: "


def stand_in_for_unreadable() -> None:
    """Have every consumer of this process deliver what it cannot read as records whose value is Unreadable."""
    fetcher.MemoryRecords = Fetched


class StandIn(NamedTuple):
    """A record that cannot be read, as aiokafka wants its records; `timestamp` is its batch's newest if unknown."""

    offset: int
    timestamp: int
    timestamp_type: int
    value: Unreadable
    key: None = None
    checksum: None = None
    headers: Sequence[Header] = ()


class Fetched:
    """What one fetch brought of one partition, batch by batch: the part of aiokafka's MemoryRecords that it uses."""

    def __init__(self, fetched: bytes) -> None:
        self._fetched = fetched
        self._batches = MemoryRecords(fetched)
        self._at = 0
        self._ahead: Any = None

    def size_in_bytes(self) -> int:
        """Return the length of what was fetched."""
        return len(self._fetched)

    def has_next(self) -> bool:
        """Tell whether there is another whole batch. Before a damaged one there is none: it is fetched anew, alone."""
        if self._at == 0:
            return bool(self._batches.has_next())
        if self._ahead is None and self._batches.has_next():
            try:
                self._ahead = self._cut()
            except CorruptRecordException:
                return False
        return self._ahead is not None and self._ahead.validate_crc()

    def next_batch(self) -> Any:
        """Return the next batch."""
        batch, self._ahead = self._ahead or self._cut(), None
        return batch

    def _cut(self) -> Any:
        begin, library = self._at, self._batches.next_batch()
        length_at = begin + _LENGTH_AT
        length = int.from_bytes(self._fetched[length_at : length_at + 4], "big")
        self._at = begin + _LENGTH_COUNTS_FROM + length
        if library.is_control_batch or not isinstance(library, DefaultRecordBatch):
            return library
        return _Batch(library, memoryview(self._fetched)[begin : self._at])


class _Batch:
    """A batch of format 2, the only one that brokers still take: the part of aiokafka's that it uses."""

    is_control_batch = False

    def __init__(self, library: Any, raw: memoryview) -> None:
        self._library = library
        self._raw = raw
        self._is_sound: bool | None = None
        self.base_offset: int = library.base_offset
        self.next_offset: int = library.next_offset
        self.producer_id: int = library.producer_id
        self.is_transactional: bool = library.is_transactional

    def validate_crc(self) -> bool:
        """Tell whether these are the bytes that were written."""
        if self._is_sound is None:
            self._is_sound = self._library.validate_crc()
        return self._is_sound

    def __iter__(self) -> Iterator[Any]:
        try:
            records = list(self._library)
        except MemoryError:
            raise
        except Exception:  # whatever a codec or the parser makes of bytes that it does not understand
            return _one_by_one(_Head.of(self._library, self._raw), bytes(self._raw))
        offsets = [record.offset for record in records]
        are_in_order = all(map(lt, [self.base_offset - 1, *offsets], [*offsets, self.next_offset]))
        if are_in_order and not (self._library.compression_type and any(map(_is_too_large, records))):
            return iter(records)
        return _one_by_one(_Head.of(self._library, self._raw), bytes(self._raw))


class _Head(NamedTuple):
    """What the head of a batch says, among it that `records` records have the offsets from `base` to before `next`."""

    base: int
    next: int
    records: int
    codec: int
    first_timestamp: int
    max_timestamp: int
    timestamp_type: int

    @classmethod
    def of(cls, library: Any, raw: memoryview) -> "_Head":
        return cls(
            library.base_offset,
            library.next_offset,
            int.from_bytes(raw[_COUNT_AT : _COUNT_AT + 4], "big", signed=True),
            library.compression_type,
            library.first_timestamp,
            library.max_timestamp,
            library.timestamp_type,
        )

    @property
    def is_whole(self) -> bool:
        """Whether no record of the batch was compacted away, so that the n-th stands at the n-th offset."""
        return self.records == self.next - self.base

    def stand_in(self, offset: int, why: str, timestamp: int | None = None) -> StandIn:
        if timestamp is None or self.timestamp_type != _CREATE_TIME:
            timestamp = self.max_timestamp
        return StandIn(offset, timestamp, self.timestamp_type, Unreadable(why))


def _one_by_one(head: _Head, raw: bytes) -> Iterator[Any]:
    """Read the records of a batch each for itself."""
    try:
        body = _body(head, raw)
    except MemoryError:
        raise
    except Exception as error:
        codec = _DECOMPRESS[head.codec][0] if head.codec in _DECOMPRESS else f"number {head.codec}"
        why = f"The batch of the record must be compressed as its codec, {codec}, wants it, but: {error!r}"
        yield from (head.stand_in(offset, why) for offset in range(head.base, head.next))
        return
    expected, at = head.base, 0
    for _ in range(head.records):
        frame = _frame(body, at)
        if frame is None or expected >= head.next:
            break
        begin, at = frame
        record = _record(head, raw, body[begin:at], expected)
        yield record
        expected = record.offset + 1
    else:
        if at == len(body):
            return
    why = f"{_FORMAT}where it begins or ends in its batch is unknown."
    yield from (head.stand_in(offset, why) for offset in range(expected, head.next))


def _body(head: _Head, raw: bytes) -> bytes:
    body = raw[_HEAD_BYTES:]
    if head.codec == 0:
        return body
    if head.codec not in _DECOMPRESS:
        raise ValueError("there is no such codec")
    return _DECOMPRESS[head.codec][1](body)


def _frame(body: bytes, at: int) -> tuple[int, int] | None:
    """Return where the record at a place begins, with its length, and where it ends; None if that is lost."""
    try:
        length, begin = decode_varint(body, at)
    except (ValueError, IndexError):
        return None
    return (at, begin + length) if length > 0 and begin + length <= len(body) else None


def _record(head: _Head, raw: bytes, framed: bytes, expected: int) -> Any:
    """Return a record, or what stands in for it, at `expected` unless the batch may skip offsets."""
    try:
        offset, timestamp = _standing(head, framed)
    except (ValueError, IndexError) as error:
        return head.stand_in(expected, f"{_FORMAT}{error}.")
    if offset != expected and (head.is_whole or not expected <= offset < head.next):
        return head.stand_in(expected, f"{_FORMAT}it claims offset {offset}, but stands at {expected}.", timestamp)
    if len(framed) > _LARGEST_BYTES:
        why = f"The record must have at most {_LARGEST_BYTES} bytes, but has {len(framed)}, decompressed."
        return head.stand_in(offset, why, timestamp)
    try:
        [record] = DefaultRecordBatch(_alone(raw) + framed)
    except MemoryError:
        raise
    except Exception as error:
        return head.stand_in(offset, _why(error), timestamp)
    return record


def _is_too_large(record: Any) -> bool:
    named = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + named > _LARGEST_BYTES


def _standing(head: _Head, framed: bytes) -> tuple[int, int]:
    """Return the offset and the timestamp of a record that may be unreadable behind them."""
    padded = framed + bytes(3)  # the compiled decoder does not look where bytes end
    _, at = decode_varint(padded, 0)
    _, at = decode_varint(padded, at)  # attributes, of which none is in use
    timestamp_delta, at = decode_varint(padded, at)
    offset_delta, _ = decode_varint(padded, at)
    return head.base + offset_delta, _as_int64(head.first_timestamp + timestamp_delta)


def _as_int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _alone(raw: bytes) -> bytes:
    """Return the head of a batch as that of one which holds one record, uncompressed."""
    plain = raw[_ATTRIBUTES_AT + 1] & ~DefaultRecordBatch.CODEC_MASK
    before, between = raw[: _ATTRIBUTES_AT + 1], raw[_ATTRIBUTES_AT + 2 : _COUNT_AT]
    return before + bytes([plain]) + between + (1).to_bytes(4, "big")


def _why(error: Exception) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, UnicodeDecodeError):
        return f"The name of a header must be UTF-8, but is {bytes(cause.object)!r}."
    return f"{_FORMAT}{error}."
