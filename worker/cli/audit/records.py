"""The match records of a replay, kept small: a million of them have to fit."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from worker.ratings.rows import MatchRecord, RatedRecord

_encode = Encoder().encode
_decode = Decoder(MatchRecord).decode

_DIGEST_BYTES: Final = 8


def digest(record: MatchRecord) -> bytes:
    """Return what tells a record from another."""
    return blake2b(_encode(record), digest_size=_DIGEST_BYTES).digest()


class KeptRecords:
    """Records by match_id. Without `terms`, these are only in the digest: most pools never need them again."""

    def __init__(self, *, terms: bool) -> None:
        self._terms = terms
        self._packed: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, match_id: object) -> bool:
        return match_id in self._packed

    def keep(self, match_id: str, record: MatchRecord) -> None:
        """Keep a record in place of the one that was kept before."""
        short = record if self._terms or record.rated is None else replace(record, rated=_without_terms(record.rated))
        self._packed[match_id] = digest(record) + _encode(short)

    def get(self, match_id: str) -> MatchRecord | None:
        """Return a record, without terms where they are not kept."""
        packed = self._packed.get(match_id)
        return None if packed is None else _decode(memoryview(packed)[_DIGEST_BYTES:])

    def holds(self, match_id: str, record: MatchRecord) -> bool:
        """Return whether this very record is kept, terms and all."""
        return self._packed.get(match_id, b"")[:_DIGEST_BYTES] == digest(record)

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)


def _without_terms(rated: RatedRecord) -> RatedRecord:
    return replace(rated, winner=replace(rated.winner, terms={}), loser=replace(rated.loser, terms={}))
