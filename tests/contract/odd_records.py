"""Records as a hostile publisher writes them, and the dead letters that they must become."""

from collections.abc import Sequence
from typing import NamedTuple

import orjson
from hypothesis import strategies as st

from tests.ratings.ladder import AT, DAY
from tests.stream.raw_batches import Raw
from worker.ratings.delivery import Header
from worker.ratings.instants import format_instant
from worker.ratings.wire import DLT_BODY, DLT_HEADERS

TOPIC = "match-analyzed"
LARGEST = 2**63 - 1
LARGEST_LETTER = 2_097_152
"""What a dead-letter topic takes, as declared."""
SIZES = (0, 1, 1024 * 1024, LARGEST_LETTER + 1)

TIMES = st.one_of(
    st.sampled_from([0, -1, -2, 1, AT, AT - 31 * DAY, AT + 31 * DAY, 253_402_300_800_000, -62_135_596_800_001]),
    st.sampled_from([LARGEST, LARGEST - 1, -LARGEST - 1, 2**53 + 1]),
    st.integers(-LARGEST - 1, LARGEST),
)
BYTES = st.one_of(st.none(), st.sampled_from([b"", b"\0", b" ", b"\xff\xfe"]), st.binary(max_size=40))
NAMES = st.one_of(
    st.sampled_from(["", "h", "dlt-", "DLT-REASON", "ce_id", "größe", "\0", "n" * 300, *DLT_HEADERS, DLT_BODY]),
    st.text(max_size=8),
).map(str.encode)
NOT_UTF_8 = st.sampled_from([b"\xff", b"h\xfe", b"\xed\xa0\x80", b"\xc0\xaf"])


class Odd(NamedTuple):
    """A record, and when it was written by its own account, in UTC ms."""

    raw: Raw
    timestamp_ms: int

    @property
    def is_readable(self) -> bool:
        return all(_is_utf_8(name) for name, _ in self.raw.headers)


@st.composite
def odd_records(draw: st.DrawFn, sizes: Sequence[int] = (0, 1)) -> list[Odd]:
    """Return records of one batch, of which each is refused at once, or parked for the match of its number."""
    records = []
    for number in range(draw(st.integers(1, 6))):
        value = draw(st.one_of(BYTES, st.just(_analysis(number)), st.sampled_from(sizes).map(bytes)))
        headers = draw(st.lists(st.tuples(st.one_of(NAMES, NAMES, NAMES, NOT_UTF_8), BYTES), max_size=5))
        key = draw(st.one_of(BYTES, st.just(bytes(min(64 * 1024, max(sizes))))))
        records.append(Odd(Raw(value, key, headers), draw(TIMES)))
    return records


def _analysis(number: int) -> bytes:
    """Return an analysis of a match that others play, with a field that nobody knows."""
    players = [{"player_id": player, "pr": 4.0} for player in ("xen", "yan")]
    at = format_instant(AT)
    event = {"match_id": f"m-{number}", "pool": "blitzgammon", "players": players, "analyzed_at": at, "more": "é"}
    return orjson.dumps(event)


def kept_of(odd: Odd) -> tuple[bytes | None, bytes | None, list[Header]]:
    """Return key, value and headers that the record's letter must have, besides those that we add."""
    if not odd.is_readable:
        return None, None, []
    named = [(name.decode(), value) for name, value in odd.raw.headers]
    return odd.raw.key, odd.raw.value, [header for header in named if header[0] not in (*DLT_HEADERS, DLT_BODY)]


def added_to(odd: Odd, offset: int, topic: str) -> dict[str, bytes]:
    """Return what the headers that we add must say, besides reason and message."""
    place = {"dlt-topic": topic.encode(), "dlt-partition": b"0", "dlt-offset": b"%d" % offset}
    timed = {**place, "dlt-timestamp": b"%d" % odd.timestamp_ms}
    return timed if odd.is_readable else {**timed, DLT_BODY: b"left out: unreadable"}


def _is_utf_8(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
