import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.files import packaged
from worker.ratings.instants import format_instant, parse_instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS, LAST_MS = parse_instant("0001-01-01T00:00:00Z"), parse_instant("9999-12-31T23:59:59.999Z")
SCHEMA = json.loads(packaged("schemas/match-finished.schema.json").read_bytes())
PATTERN = re.compile(SCHEMA["$defs"]["instant"]["pattern"].removesuffix("$"))

zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
digits = st.text("0123456789", max_size=12)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.05Z", 50),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:59:00-00:01", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ],
)
def test_an_instant_is_milliseconds_since_1970(text: str, ms: int) -> None:
    assert parse_instant(text) == ms


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("2026-10-05T12:34:56.7899999Z", "2026-10-05T12:34:56.789Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("1969-12-31T23:59:59.0009+05:30", "1969-12-31T23:59:59.000+05:30"),
        ("2026-10-05T12:34:56.000" + "9" * 5000 + "Z", "2026-10-05T12:34:56Z"),
    ],
)
def test_what_is_finer_than_a_millisecond_is_cut_off(text: str, cut: str) -> None:
    assert parse_instant(text) == parse_instant(cut)


def test_offsets_may_lead_out_of_the_calendar_at_both_ends() -> None:
    assert parse_instant("0001-01-01T00:00:00+23:59") == FIRST_MS - 1439 * 60_000
    assert parse_instant("9999-12-31T23:59:59.999-23:59") == LAST_MS + 1439 * 60_000
    assert format_instant(FIRST_MS - 1) == "0000-12-31T23:59:59.999Z"
    assert format_instant(LAST_MS + 1) == "10000-01-01T00:00:00.000Z"


@pytest.mark.parametrize("ms", [-(2**63), 2**63 - 1])
def test_any_record_timestamp_can_be_written(ms: int) -> None:
    assert format_instant(ms).endswith("Z")


@given(st.datetimes(timezones=zones), digits)
def test_it_agrees_with_the_standard_library(moment: datetime, finer: str) -> None:
    text = moment.isoformat(timespec="microseconds")
    shown = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    expected = (shown - EPOCH) // timedelta(milliseconds=1)
    assert parse_instant(f"{text[:26]}{finer}{text[26:]}") == expected
    assert parse_instant(shown.isoformat(timespec="milliseconds").replace("+00:00", "Z")) == expected


@given(st.integers(FIRST_MS, LAST_MS))
def test_what_is_written_reads_back(ms: int) -> None:
    text = format_instant(ms)
    assert parse_instant(text) == ms
    assert text == (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")[:23] + "Z"


@given(
    st.one_of(
        st.from_regex(PATTERN, fullmatch=True),
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?(Z|[+-][0-9]{2}:[0-9]{2})\n?"),
        st.text(),
    )
)
def test_the_schema_and_the_reader_take_the_same_texts(text: str) -> None:
    try:
        parse_instant(text)
    except ValueError:
        assert not PATTERN.fullmatch(text)
    else:
        assert PATTERN.fullmatch(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-10-05",
        "2026-10-05T12:34:56",
        "2026-10-05T12:34:56z",
        "2026-10-05t12:34:56Z",
        "2026-10-05T12:34:56Z\n",
        "2026-10-05T24:00:00Z",
        "2026-10-05T12:34:60Z",
        "1900-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-10-05T12:34:56.Z",
        "2026-10-05T12:34:56+24:00",
        "2026-10-05T12:34:56+0200",
        "202\u0666-10-05T12:34:56Z",
        "2026-10-05T12:34:+6Z",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"instant|year|day|month"):
        parse_instant(text)


def test_a_refused_instant_stays_refused() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="day"):
            parse_instant("2026-02-30T00:00:00Z")
