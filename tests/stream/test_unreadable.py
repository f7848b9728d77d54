"""Whatever stands in a fetched batch, each of its offsets is delivered once, and only what cannot be read stands in."""

import re
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from hypothesis import given
from hypothesis import strategies as st

from tests.stream.raw_batches import AT_MS, CODECS, Batch, Raw, batch_of, varint
from worker.ratings.delivery import Unreadable
from worker.stream.unreadable import stand_in_for_unreadable

PLACE = TopicPartition("match-finished", 3)
NOT_UTF_8 = Raw(headers=[(b"\xfe\xff", b"v")])
GOOD = Raw(b"good", b"key", [(b"h", b"v"), (b"h", None), (b"", b"\x00\xff"), ("größe".encode(), b"")])
AS_READ = (("h", b"v"), ("h", None), ("", b"\x00\xff"), ("größe", b""))


@pytest.fixture(autouse=True)
def _standing_in():
    before = fetcher.MemoryRecords
    stand_in_for_unreadable()
    yield
    fetcher.MemoryRecords = before


def read(fetched: bytes, at: int = 0) -> list[Any]:
    """Return what aiokafka's fetcher makes of a fetch from an offset on."""
    return list(opened(fetched, at))


def opened(fetched: bytes, at: int = 0) -> Any:
    records = fetcher.MemoryRecords(fetched)
    assert records.has_next()
    return fetcher.PartitionRecords(PLACE, records, [], at, None, None, True, fetcher.READ_COMMITTED)


def why(record: Any) -> str:
    assert isinstance(record.value, Unreadable)
    assert (record.value, record.key, record.headers) == (b"", None, ())
    return record.value.why


def unreadable(records: list[Any]) -> list[int]:
    return [record.offset for record in records if isinstance(record.value, Unreadable)]


@pytest.mark.parametrize("codec", CODECS)
def test_a_header_name_that_is_not_utf_8_costs_its_own_record_only(codec):
    records = read(batch_of(GOOD, NOT_UTF_8._replace(delta_ms=7), GOOD, base=40, codec=codec).sealed(), 40)
    assert [record.offset for record in records] == [40, 41, 42]
    assert unreadable(records) == [41]
    assert why(records[1]) == r"The name of a header must be UTF-8, but is b'\xfe\xff'."
    assert records[1].timestamp == AT_MS + 7
    for record in (records[0], records[2]):
        assert (record.key, record.value, record.headers, record.timestamp) == (b"key", b"good", AS_READ, AT_MS)


def test_the_batches_around_it_are_read_and_reading_goes_on_behind():
    batches = [batch_of(GOOD, GOOD, base=5), batch_of(NOT_UTF_8, base=7), batch_of(GOOD, base=8)]
    records = opened(b"".join(batch.sealed() for batch in batches), 5)
    assert unreadable(list(records)) == [7]
    assert records.next_fetch_offset == 9


def test_reading_that_stopped_in_the_middle_goes_on_there():
    assert [record.offset for record in read(batch_of(GOOD, NOT_UTF_8, GOOD).sealed(), 2)] == [2]


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_whose_lengths_are_wrong_within_its_frame_costs_that_record_only(codec):
    body = b"\0" + varint(9) + varint(1) + varint(100) + b"short"
    frames = [GOOD.framed(0), varint(len(body)) + body, GOOD.framed(2)]
    records = read(Batch(frames, codec=codec).sealed())
    assert unreadable(records) == [1]
    assert "Kafka's record format" in why(records[1])
    assert records[1].timestamp == AT_MS + 9


@pytest.mark.parametrize("frame", [varint(-1), varint(0), varint(2**40), b"\xff" * 12, varint(2**62), b"\x80"])
def test_where_the_layout_is_lost_so_are_the_records_behind_it_in_their_batch_and_no_others(frame):
    broken = Batch([GOOD.framed(0), frame, GOOD.framed(2)], base=1, newest_ms=AT_MS + 3)
    records = read(broken.sealed() + batch_of(GOOD, base=4).sealed(), 1)
    assert [record.offset for record in records] == [1, 2, 3, 4]
    assert unreadable(records) == [2, 3]
    assert [record.timestamp for record in records[1:3]] == [AT_MS + 3] * 2
    assert "begins or ends" in why(records[1])


def test_bytes_behind_the_last_record_cost_no_record():
    records = read(Batch([GOOD.framed(0), GOOD.framed(1) + b"more"]).sealed())
    assert [record.value for record in records] == [b"good", b"good"]


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_a_batch_that_counts_too_few_records_leaves_no_offset_out(count):
    records = read(Batch([GOOD.framed(0), GOOD.framed(1)], records=count).sealed())
    assert [record.offset for record in records] == [0, 1]
    assert unreadable(records) == [0, 1][max(0, count) :]


@pytest.mark.parametrize("codec", sorted(set(CODECS) - {"none"}))
@pytest.mark.parametrize("body", [b"", b"not compressed at all", b"\xff" * 100])
def test_a_batch_that_cannot_be_decompressed_is_unreadable_record_by_record(codec, body):
    batch = Batch([b""] * 3, base=10, newest_ms=AT_MS + 5)
    records = read(batch.of_body(body, CODECS[codec][0]), 10)
    assert unreadable(records) == [10, 11, 12]
    assert {record.timestamp for record in records} == {AT_MS + 5}
    if body:
        assert f"its codec, {codec}, wants" in why(records[0])


def test_a_batch_of_an_unknown_codec_is_unreadable():
    records = read(Batch([b""] * 2).of_body(b"?", 6))
    assert unreadable(records) == [0, 1]
    assert "number 6" in why(records[0])


@pytest.mark.parametrize(
    ("deltas", "lost"), [([0, 0], [1]), ([1, 0], [0, 1]), ([0, 100, 2], [1]), ([0, -5, 2], [1]), ([2**31, 1], [0])]
)
def test_a_record_that_claims_the_offset_of_another_costs_itself_and_never_moves_the_reading(deltas, lost):
    batch = batch_of(*(GOOD._replace(delta=delta) for delta in deltas), base=50)
    reading = opened(batch.sealed(), 50)
    seen = []
    for record in reading:
        seen.append(record)
        assert reading.next_fetch_offset == record.offset + 1
    assert [record.offset - 50 for record in seen] == list(range(len(deltas)))
    assert [offset - 50 for offset in unreadable(seen)] == lost


def test_a_compacted_batch_is_read_with_its_gaps():
    frames = [GOOD.framed(1), NOT_UTF_8.framed(4), GOOD.framed(6)]
    records = read(Batch(frames, base=20, skipped=7).sealed(), 20)
    assert [record.offset for record in records] == [21, 24, 26]
    assert unreadable(records) == [24]


def test_the_time_at_which_the_log_took_a_record_goes_before_its_own():
    batch = batch_of(NOT_UTF_8._replace(delta_ms=9), is_append_time=True, newest_ms=AT_MS + 77)
    [record] = read(batch.sealed())
    assert (record.timestamp, record.timestamp_type) == (AT_MS + 77, 1)


@pytest.mark.parametrize("first_ms", [-1, 0, 2**63 - 1, -(2**63)])
def test_any_timestamp_is_read(first_ms):
    records = read(batch_of(GOOD, NOT_UTF_8, first_ms=first_ms, newest_ms=first_ms).sealed())
    assert [record.timestamp for record in records] == [first_ms] * 2


def test_a_timestamp_beyond_64_bits_is_what_kafka_makes_of_it():
    [record] = read(batch_of(NOT_UTF_8._replace(delta_ms=5), first_ms=2**63 - 1).sealed())
    assert record.timestamp == -(2**63) + 4


@pytest.mark.parametrize("codec", sorted(set(CODECS) - {"none"}))
def test_a_record_that_decompresses_to_more_than_anybody_can_pass_on_is_not_read(codec):
    large = bytes(16 * 1024 * 1024)
    odd = [Raw(large), Raw(b"", large), Raw(b"", b"", [(b"h", large)])]
    records = read(batch_of(GOOD, *odd, Raw(large[1000:]), codec=codec).sealed())
    assert unreadable(records) == [1, 2, 3]
    assert re.fullmatch(r"The record must have at most 16777216 bytes, but has \d+, decompressed\.", why(records[1]))


def test_aiokafka_takes_its_fetches_apart_with_what_we_replace():
    assert "MemoryRecords" in fetcher.Fetcher._proc_fetch_request.__code__.co_names


class TestADamagedBatch:
    def test_is_never_taken_for_an_unreadable_one(self):
        whole = batch_of(GOOD, NOT_UTF_8).sealed()
        with pytest.raises(CorruptRecordException):
            read(whole[:-1] + bytes([whole[-1] ^ 1]))

    def test_takes_nothing_with_it_that_stands_before_it(self):
        damaged = bytearray(batch_of(GOOD, base=2).sealed())
        damaged[-1] ^= 1
        reading = opened(batch_of(GOOD, GOOD).sealed() + bytes(damaged))
        assert [record.offset for record in reading] == [0, 1]
        assert reading.next_fetch_offset == 2

    @pytest.mark.parametrize("length", [-100, 3])
    def test_may_have_lost_its_length(self, length):
        damaged = bytearray(batch_of(GOOD, base=1).sealed())
        damaged[8:12] = length.to_bytes(4, "big", signed=True)
        assert [record.offset for record in read(batch_of(GOOD).sealed() + bytes(damaged))] == [0]


@given(st.data())
def test_every_offset_of_a_batch_is_delivered_once_and_in_order_whatever_its_bytes_are(data):
    frames = [bytearray(GOOD.framed(index)) for index in range(data.draw(st.integers(1, 5)))]
    for _ in range(data.draw(st.integers(1, 4))):
        frame = data.draw(st.sampled_from(frames))
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    codec = data.draw(st.sampled_from(sorted(CODECS)))
    at = data.draw(st.integers(0, len(frames) - 1))
    records = read(Batch([bytes(frame) for frame in frames], codec=codec).sealed(), at)
    assert [record.offset for record in records] == list(range(at, len(frames)))
    for record, frame in zip(records, frames[at:], strict=True):
        if not isinstance(record.value, Unreadable) and bytes(frame) == GOOD.framed(record.offset):
            assert (record.key, record.value, record.headers) == (b"key", b"good", AS_READ)
