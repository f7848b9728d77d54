"""What Redis answers, as values."""

from collections.abc import Sequence
from typing import Any

from worker.ratings.delivery import Source
from worker.ratings.wire import complete
from worker.tables.errors import HoleError, LostWritesError
from worker.tables.packing import unpack_messages, unpack_row
from worker.tables.tables import SETTLED, Committed, Partition, Standings, Stored


def committed(answer: Any) -> Committed:
    """Read what commit.lua returns."""
    positions, rests_on = answer
    return Committed([_position(text) for text in positions], stored(rests_on))


def _position(text: bytes) -> int | None:
    if text == b"-":
        return SETTLED
    return int(text) if text else None


def stored(flat: Sequence[bytes]) -> list[Stored]:
    """Read `source, head, messages, ...`; a head is `position run rests_on`."""
    stored = []
    for source, head, packed in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        position = int(head.split(b" ", 1)[0])
        answers = [complete(message, position) for message in unpack_messages(packed)]
        stored.append(Stored(source_of(source), position, answers))
    return sorted(stored, key=lambda entry: entry.position)


def source_of(field: bytes) -> Source:
    """Read `topic/partition/offset`."""
    topic, partition, offset = field.decode().split("/")
    return Source(topic, int(partition), int(offset))


def places(first: int, ids: Sequence[bytes], rows: Sequence[bytes]) -> list[Standings]:
    """Read the ids and rows of a page that begins at place `first`."""
    found = zip(ids, rows, strict=True)
    return [Standings(rank, player_id.decode(), unpack_row(row)) for rank, (player_id, row) in enumerate(found, first)]


def refusal(pool: str, why: str, partition: str, offset: str, other: str = "") -> LostWritesError | HoleError:
    """Return the error for what settle.lua answers."""
    where = f"pool {pool}, {partition}:"
    if why == "behind":
        return LostWritesError(f"{where} Redis says offset {offset} is next, but it had confirmed {other}")
    if why == "gone":
        return LostWritesError(f"{where} what was committed for offset {offset} is gone from Redis")
    return HoleError(f"{where} offset {offset} is next, but what was to be settled begins at {other}")


def partition_of(field: bytes) -> Partition:
    """Read `topic/number`."""
    topic, number = field.decode().rsplit("/", 1)
    return Partition(topic, int(number))
