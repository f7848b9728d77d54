import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stream.decoding import (
    ANALYSES,
    ANALYSIS,
    AT_MS,
    GAME,
    LINK,
    LINKS,
    MATCHES,
    PRIZE,
    PRIZES,
    decode,
    delivery,
    match,
    refusal,
)
from worker.ratings.events import AnalyzedPlayer, MatchAnalyzed
from worker.ratings.refusal import Reason
from worker.rules.match import MatchFinished, Player
from worker.stream.decode import Decoded


def test_a_match_becomes_a_value_with_every_default_filled_in() -> None:
    decoded = decode(GAME)
    assert decoded == Decoded(
        delivery(json.dumps(GAME).encode()),
        MatchFinished("gammon42", "m-1", Player("ann"), Player("bob"), AT_MS, "ranked", cube=2),
        "gammon42",
        None,
        AT_MS,
    )


def test_every_field_of_a_match_is_read() -> None:
    event = {
        **GAME,
        "winner": {"player_id": "ann", "kind": "guest", "pr": 3},
        "loser": {"player_id": "bob", "kind": "anonymous", "pr": 0.5},
        "length": 7,
        "elo_enabled": True,
        "same_network": True,
        "end_reason": "left",
        "win_type": "gammon",
        "formula_version": "1.2.0",
        "finished_at": "2026-10-05T14:34:56.7899+02:00",
    }
    assert match(decode(event)) == MatchFinished(
        "gammon42",
        "m-1",
        Player("ann", "guest", 3.0),
        Player("bob", "anonymous", 0.5),
        AT_MS,
        "ranked",
        2,
        7,
        True,
        True,
        "left",
        "gammon",
        "1.2.0",
    )


def test_an_analysis_becomes_a_value_with_every_default_filled_in() -> None:
    players = (AnalyzedPlayer("ann", 4.25), AnalyzedPlayer("bob", None))
    decoded = decode(ANALYSIS, decoder=ANALYSES)
    assert decoded.event == MatchAnalyzed("blitzgammon", "m-1", players, AT_MS, 1)
    assert (decoded.pool, decoded.instant_ms, decoded.refusal) == ("blitzgammon", AT_MS, None)


def test_an_analysis_without_a_pr_rule_in_its_pool_passes() -> None:
    assert decode({**ANALYSIS, "pool": "nardeon"}, decoder=ANALYSES).event is not None


@pytest.mark.parametrize("number", [b"4", b"4.0", b"4e0", b"40e-1"])
def test_a_number_with_a_zero_fraction_is_the_integer_it_equals(number: bytes) -> None:
    value = json.dumps(GAME).encode()
    event = match(decode(value.replace(b'"cube": 2', b'"cube":%b,"length":%b' % (number, number))))
    assert (event.cube, event.length) == (4, 4)
    assert (type(event.cube), type(event.length)) == (int, int)


def test_a_revision_with_a_zero_fraction_is_an_integer() -> None:
    event = decode({**ANALYSIS, "revision": 2147483647.0}, decoder=ANALYSES).event
    assert isinstance(event, MatchAnalyzed)
    assert repr(event.revision) == "2147483647"


@pytest.mark.parametrize(("pr", "kept"), [("3", 3.0), ("0", 0.0), ("null", None), ("1" + "0" * 300, 1e300)])
def test_a_pr_is_a_double_or_nothing(pr: str, kept: float | None) -> None:
    value = json.dumps({**GAME, "winner": {"player_id": "ann", "pr": "PR"}}).replace('"PR"', pr)
    found = match(decode(value.encode())).winner.pr
    assert (found, type(found)) == (kept, type(kept))


@pytest.mark.parametrize("pr", ["1e400", "1" + "0" * 400])
def test_a_pr_beyond_every_double_is_not_json(pr: str) -> None:
    value = json.dumps({**GAME, "winner": {"player_id": "ann", "pr": "PR"}}).replace('"PR"', pr)
    assert refusal(decode(value.encode())).reason is Reason.NOT_JSON


def test_unknown_fields_are_ignored_however_deep() -> None:
    value = json.dumps(GAME).encode()[:-1] + b',"more":' + b"[" * 1000 + b"]" * 1000 + b"}"
    assert match(decode(value)) == match(decode(GAME))


def test_of_a_repeated_name_the_last_counts() -> None:
    assert match(decode(json.dumps(GAME).encode()[:-1] + b',"cube":8}')).cube == 8


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "boosted"},
        {"mode": "casual"},
        {"mode": "tournament"},
        {"winner": {"player_id": "ann", "kind": "bot"}},
        {"pool": "blitzgammon", "mode": "hosted"},
        {"pool": "blitzgammon", "mode": "casual"},
        {"pool": "nardeon", "mode": "public", "same_network": True},
        {"pool": "nardeon", "mode": "public", "loser": {"player_id": "bob", "kind": "guest"}},
        {"pool": "nardeon", "mode": "club"},
        {"pool": "season0", "mode": "ranked"},
        {"pool": "season0", "mode": "bot"},
    ],
)
def test_an_excluded_match_needs_neither_cube_nor_length(changes: dict[str, Any]) -> None:
    event = {key: value for key, value in GAME.items() if key != "cube"}
    assert match(decode({**event, **changes})).cube is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
fields = st.dictionaries(
    st.sampled_from(
        [*GAME, *ANALYSIS, *PRIZE, *LINK, "length", "formula_version", "revision", "same_network", "elo_enabled"]
    ),
    json_values,
)
timestamps = st.integers(-(2**63), 2**63 - 1)


def holds(decoded: Decoded) -> None:
    assert (decoded.event is None) is (decoded.refusal is not None)
    if decoded.refusal is not None:
        refusal(decoded)


@given(st.binary() | st.text().map(str.encode), timestamps)
def test_no_bytes_raise(value: bytes, timestamp_ms: int) -> None:
    for decoder in (MATCHES, ANALYSES, PRIZES, LINKS):
        holds(decoder.decode(delivery(value, timestamp_ms)))


@given(fields, timestamps | st.just(AT_MS))
def test_no_values_in_known_fields_raise(changes: dict[str, Any], timestamp_ms: int) -> None:
    for decoder, event in ((MATCHES, GAME), (ANALYSES, ANALYSIS), (PRIZES, PRIZE), (LINKS, LINK)):
        holds(decode({**event, **changes}, timestamp_ms, decoder))
