from typing import Any

import pytest

from tests.stream.decoding import (
    ANALYSES,
    ANALYSIS,
    AT,
    AT_MS,
    GAME,
    LINK,
    LINKS,
    MATCHES,
    PRIZE,
    PRIZES,
    decode,
    delivery,
    refusal,
)
from worker.ratings.delivery import Unreadable
from worker.ratings.instants import DAY_MS, format_instant, parse_instant
from worker.ratings.refusal import Reason, Refusal
from worker.rules.pools import Pool, parse_pools
from worker.stream.decode import Decoder

MINUTE_MS = 60_000
RATED = "for a match that is to be rated."


@pytest.mark.parametrize("value", [None, b""])
def test_a_tombstone_and_an_empty_value_are_not_json(value: bytes | None) -> None:
    decoded = MATCHES.decode(delivery(value, 5))
    assert refusal(decoded).reason is Reason.NOT_JSON
    assert (decoded.pool, decoded.instant_ms) == (None, 5)


def test_what_the_client_cannot_read_is_not_json_and_says_why() -> None:
    decoded = MATCHES.decode(delivery(Unreadable("The name of a header must be UTF-8, but is größe."), 5))
    assert refusal(decoded) == Refusal(Reason.NOT_JSON, "The name of a header must be UTF-8, but is gr\\xf6\\xdfe.")
    assert (decoded.pool, decoded.instant_ms) == (None, 5)


@pytest.mark.parametrize("timestamp_ms", [-(2**63), -1, 0, 2**63 - 1])
@pytest.mark.parametrize(("event", "decoder"), [(GAME, MATCHES), (ANALYSIS, ANALYSES), (PRIZE, PRIZES), (LINK, LINKS)])
def test_any_timestamp_is_judged(event: Any, decoder: Decoder, timestamp_ms: int) -> None:
    refused = refusal(decode(event, timestamp_ms, decoder))
    assert refused.reason is (Reason.TOO_LATE if timestamp_ms > AT_MS else Reason.IN_THE_FUTURE)
    assert format_instant(timestamp_ms) in refused.message


@pytest.mark.parametrize("value", [b"{", b"NaN", b"\xef\xbb\xbf{}", b'"\\ud800"', b"\xff", b"[" * 5000])
def test_what_is_not_json_says_where(value: bytes) -> None:
    decoded = MATCHES.decode(delivery(value, 5))
    assert refusal(decoded).reason is Reason.NOT_JSON
    assert "line 1 column" in refusal(decoded).message
    assert decoded.instant_ms == 5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"match_id": ""}, '/match_id must be a string of at least 1 character, but is "".'),
        ({"match_id": "x" * 129}, "/match_id must be a string of at most 128 characters, but is a string of 129"),
        ({"pool": None}, "/pool must be a string, but is null."),
        ({"winner": {}}, "/winner/player_id is required."),
        ({"winner": []}, "/winner must be an object, but is an array of 0."),
        ({"winner": {"player_id": "a", "pr": "b"}}, '/winner/pr must be a number or null, but is "b".'),
        ({"winner": {"player_id": "a", "pr": -1}}, "/winner/pr must be at least 0, but is -1."),
        ({"end_reason": "\x7f\n"}, '/end_reason must be one of "completed", "resigned", "left", "disconnected"'),
        ({"winner": {"player_id": "a", "kind": "b\u00f6t"}}, '/winner/kind must be one of "account", "anonymous"'),
        ({"finished_at": "2026-02-29T00:00:00Z"}, "/finished_at must be an instant such as 2026-07-01T12:34:56.789Z"),
        ({"cube": 3}, "/cube must be one of 1, 2, 4, 8, 16, 32, 64, but is 3."),
        ({"length": 100}, "/length must be at most 99, but is 100."),
        ({"length": 1.5}, "/length must be an integer, but is 1.5."),
        ({"elo_enabled": 1}, "/elo_enabled must be true or false, but is 1."),
        ({"formula_version": "2"}, "/formula_version must be a formula version such as 1.2.0"),
        ({"mode": {"x": [[["y"]]]}}, "/mode must be a string, but is an object."),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected(changes: dict[str, Any], said: str) -> None:
    decoded = decode({**GAME, **changes}, 5)
    assert refusal(decoded).reason is Reason.SCHEMA
    assert refusal(decoded).message.startswith(said)
    assert (decoded.pool, decoded.instant_ms) == (None, 5)


@pytest.mark.parametrize("field", ["match_id", "pool", "winner", "loser", "finished_at", "mode"])
def test_a_missing_field_is_named(field: str) -> None:
    event = {key: value for key, value in GAME.items() if key != field}
    assert refusal(decode(event)) == Refusal(Reason.SCHEMA, f"/{field} is required.")


@pytest.mark.parametrize("value", [b"[]", b"1", b"null", b'"x"', b"true"])
def test_an_event_must_be_an_object(value: bytes) -> None:
    assert refusal(decode(value)).reason is Reason.SCHEMA
    assert refusal(decode(value)).message.startswith("The value must be an object, but is ")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"players": []}, "/players must be an array of exactly 2 items, but is an array of 0."),
        ({"players": [{"player_id": "a"}] * 2}, "/players/0/pr is required."),
        ({"revision": 0}, "/revision must be at least 1, but is 0."),
        ({"revision": 2**31}, "/revision must be at most 2147483647, but is 2147483648."),
        ({"revision": None}, "/revision must be an integer, but is null."),
    ],
)
def test_a_wrong_field_of_an_analysis_is_named(changes: dict[str, Any], said: str) -> None:
    assert refusal(decode({**ANALYSIS, **changes}, decoder=ANALYSES)) == Refusal(Reason.SCHEMA, said)


def test_a_known_field_is_checked_where_the_ruleset_does_not_use_it() -> None:
    event = {**GAME, "pool": "nardeon", "mode": "public", "length": 5, "cube": 3}
    assert refusal(decode(event)).message.startswith("/cube must be one of")


@pytest.mark.parametrize("deep", [b'{"mode":%b}', b'{"winner":{"pr":%b}}', b'{"more":%b}', b"%b"])
def test_deep_nesting_in_a_bad_event_is_no_trouble(deep: bytes) -> None:
    assert refusal(decode(deep % (b"[" * 900 + b"]" * 900))).reason is Reason.SCHEMA


def test_a_pool_that_is_not_configured_is_unknown() -> None:
    decoded = decode({**GAME, "pool": "gammon43", "mode": "whatever"}, 5)
    assert refusal(decoded) == Refusal(
        Reason.UNKNOWN_POOL, '/pool must be one of gammon42, blitzgammon, nardeon, season0, but is "gammon43".'
    )
    assert (decoded.pool, decoded.instant_ms) == (None, AT_MS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "rating"}, '/mode must be one of "ranked", "boosted", "casual", "tournament" in a gammon42 pool'),
        (
            {"pool": "season0", "mode": "x" * 99},
            '/mode must be one of "ranked", "bot" in a season0 pool, but is a string',
        ),
        ({"pool": "nardeon", "mode": "public"}, f"/length is required in a nardeon pool {RATED}"),
        ({"pool": "blitzgammon", "mode": "rating"}, f"/length is required in a blitzgammon pool {RATED}"),
        (
            {"pool": "blitzgammon", "mode": "hosted", "elo_enabled": True},
            f"/length is required in a blitzgammon pool {RATED}",
        ),
    ],
)
def test_what_the_ruleset_needs_is_named(changes: dict[str, Any], said: str) -> None:
    decoded = decode({**GAME, **changes}, 5)
    assert refusal(decoded).reason is Reason.SCHEMA
    assert refusal(decoded).message.startswith(said)
    assert (decoded.pool, decoded.instant_ms) == ({**GAME, **changes}["pool"], AT_MS)


def test_a_ranked_game_needs_its_cube() -> None:
    event = {key: value for key, value in GAME.items() if key != "cube"}
    assert refusal(decode(event)) == Refusal(Reason.SCHEMA, f"/cube is required in a gammon42 pool {RATED}")


def test_a_match_against_oneself_is_refused() -> None:
    said = '/loser/player_id must be another player than /winner/player_id, but both are "ann".'
    decoded = decode({**GAME, "loser": {"player_id": "ann", "kind": "anonymous"}})
    assert refusal(decoded) == Refusal(Reason.SELF_MATCH, said)
    assert (decoded.pool, decoded.instant_ms) == ("gammon42", AT_MS)


def test_an_analysis_that_names_one_player_twice_is_refused() -> None:
    same = {**ANALYSIS, "players": [{"player_id": "\u00e4", "pr": 1}, {"player_id": "\u00e4", "pr": 2}]}
    said = '/players/1/player_id must be another player than /players/0/player_id, but both are "\\u00e4".'
    assert refusal(decode(same, decoder=ANALYSES)) == Refusal(Reason.SELF_MATCH, said)


KINDS = pytest.mark.parametrize(
    ("decoder", "event", "field"),
    [
        (MATCHES, GAME, "finished_at"),
        (ANALYSES, ANALYSIS, "analyzed_at"),
        (PRIZES, PRIZE, "awarded_at"),
        (LINKS, LINK, "linked_at"),
    ],
)


@KINDS
def test_exactly_five_minutes_ahead_passes_and_a_millisecond_more_does_not(
    decoder: Decoder, event: object, field: str
) -> None:
    assert decode(event, AT_MS - 5 * MINUTE_MS, decoder).refusal is None
    refused = refusal(decode(event, AT_MS - 5 * MINUTE_MS - 1, decoder))
    assert refused.reason is Reason.IN_THE_FUTURE
    assert refused.message == (
        f"/{field} must be at most 5 minutes after the record's timestamp, 2026-10-05T12:29:56.788Z, but is {AT}."
    )


@KINDS
def test_exactly_the_retention_passes_and_a_millisecond_more_does_not(
    decoder: Decoder, event: object, field: str
) -> None:
    assert decode(event, AT_MS + 30 * DAY_MS, decoder).refusal is None
    refused = refusal(decode(event, AT_MS + 30 * DAY_MS + 1, decoder))
    assert refused.reason is Reason.TOO_LATE
    assert refused.message == (
        f"/{field} must be at most 30 days before the record's timestamp, 2026-11-04T12:34:56.790Z, but is {AT}."
    )


def test_the_retention_is_the_pools_own() -> None:
    pools = parse_pools('[pools.short]\nruleset = "season0"\nretention_days = 7\n')
    event = {**GAME, "pool": "short"}
    short = Decoder("match-finished", pools)
    assert decode(event, AT_MS + 7 * DAY_MS, short).pool == "short"
    assert refusal(decode(event, AT_MS + 7 * DAY_MS + 1, short)).reason is Reason.TOO_LATE


def test_what_is_finer_than_a_millisecond_is_cut_off_before_the_limit() -> None:
    event = {**GAME, "finished_at": AT.replace("789", "7899999")}
    assert decode(event, AT_MS - 5 * MINUTE_MS).refusal is None


@pytest.mark.parametrize("timestamp_ms", [-1, -(2**63), 2**63 - 1])
def test_no_record_timestamp_raises(timestamp_ms: int) -> None:
    assert refusal(decode(GAME, timestamp_ms)).reason in {Reason.IN_THE_FUTURE, Reason.TOO_LATE}


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999-23:59"])
def test_the_calendars_ends_do_not_overflow(text: str) -> None:
    assert refusal(decode({**GAME, "finished_at": text})).reason in {Reason.IN_THE_FUTURE, Reason.TOO_LATE}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"formula_version": "1.0.4"}, "/formula_version"), ({"finished_at": "2024-12-31T23:59:59.999Z"}, "/finished_at")],
)
def test_a_game_that_no_published_formula_covers_is_refused(changes: dict[str, Any], pointer: str) -> None:
    event = {**GAME, **changes}
    timestamp_ms = parse_instant(event["finished_at"])
    decoded = decode(event, timestamp_ms)
    assert refusal(decoded).reason is Reason.UNPUBLISHED_FORMULA
    assert refusal(decoded).message.startswith(pointer)
    assert decode({**event, "mode": "boosted"}, timestamp_ms).refusal is None
    assert decode({**event, "loser": {"player_id": "robot", "kind": "bot"}}, timestamp_ms).refusal is None


def test_the_first_reason_of_the_contracts_order_is_given() -> None:
    faults: list[tuple[Reason, dict[str, Any]]] = [
        (Reason.SCHEMA, {"cube": 3}),
        (Reason.UNKNOWN_POOL, {"pool": "elsewhere"}),
        (Reason.SCHEMA, {"mode": "rating"}),
        (Reason.SELF_MATCH, {"loser": {"player_id": "ann"}}),
        (Reason.IN_THE_FUTURE, {"finished_at": format_instant(AT_MS + DAY_MS)}),
        (Reason.UNPUBLISHED_FORMULA, {"formula_version": "1.0.4"}),
    ]
    for first, (reason, _) in enumerate(faults):
        event = dict(GAME)
        for _, changes in faults[first:]:
            event |= changes
        assert refusal(decode(event)).reason is reason


def test_too_late_comes_before_the_formula_and_after_self_match() -> None:
    late = {**GAME, "formula_version": "1.0.4"}
    timestamp_ms = AT_MS + 31 * DAY_MS
    assert refusal(decode(late, timestamp_ms)).reason is Reason.TOO_LATE
    assert refusal(decode({**late, "loser": GAME["winner"]}, timestamp_ms)).reason is Reason.SELF_MATCH


def test_a_ruleset_without_its_part_of_the_schema_is_refused_at_start() -> None:
    class Fifth:
        name = "fifth"
        retention_days = 30

    pools: Any = {"fifth": Pool("fifth", Fifth())}  # type: ignore[arg-type]
    with pytest.raises(LookupError, match=r"schemas/match-finished\.schema\.json has no \$defs/fifth"):
        Decoder("match-finished", pools)
