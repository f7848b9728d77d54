"""Batches of Kafka's record format 2, byte by byte, so that a test can write what no client would."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from aiokafka.record.util import calc_crc32c, encode_varint

AT_MS = 1_790_000_000_000
CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "none": (0, bytes),
    "gzip": (1, gzip_encode),
    "snappy": (2, snappy_encode),
    "lz4": (3, lz4_encode),
    "zstd": (4, zstd_encode),
}


class Raw(NamedTuple):
    """A record: names of headers are bytes, offset and time go from those of its batch."""

    value: bytes | None = b"{}"
    key: bytes | None = b"k"
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    delta: int | None = None
    """None: as the record stands in its batch."""
    delta_ms: int = 0

    def framed(self, index: int) -> bytes:
        """Return the record as it stands at a place of a batch."""
        delta = index if self.delta is None else self.delta
        parts = [b"\0", varint(self.delta_ms), varint(delta), _bytes(self.key), _bytes(self.value)]
        parts += [varint(len(self.headers)), *(_bytes(name) + _bytes(value) for name, value in self.headers)]
        body = b"".join(parts)
        return varint(len(body)) + body


@dataclass(frozen=True)
class Batch:
    """A batch of frames; `skipped` offsets at its end have no record, as after compaction."""

    frames: Sequence[bytes]
    base: int = 0
    codec: str = "none"
    first_ms: int = AT_MS
    newest_ms: int = AT_MS
    is_append_time: bool = False
    records: int | None = None
    skipped: int = 0

    def sealed(self) -> bytes:
        """Return it as it is written, with a checksum that holds."""
        number, encode = CODECS[self.codec]
        return self.of_body(encode(b"".join(self.frames)), number)

    def of_body(self, body: bytes, codec: int) -> bytes:
        """Return the batch with another body, whatever that may be."""
        count = len(self.frames) if self.records is None else self.records
        attributes = codec | (8 if self.is_append_time else 0)
        last = len(self.frames) + self.skipped - 1
        checked = struct.pack(">hiqqqhii", attributes, last, self.first_ms, self.newest_ms, -1, -1, -1, count) + body
        return struct.pack(">qiibI", self.base, len(checked) + 9, -1, 2, calc_crc32c(checked)) + checked


def batch_of(*records: Raw, **more: object) -> Batch:
    """Return a batch of records that stand one behind the other."""
    return Batch([record.framed(index) for index, record in enumerate(records)], **more)


def varint(number: int) -> bytes:
    """Return a number as the format writes it."""
    written = bytearray()
    encode_varint(number, written.append)
    return bytes(written)


def _bytes(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value
