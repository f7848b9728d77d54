import json
from typing import Any

import pytest

from tests.stream.decoding import AT, AT_MS, LINK, LINKS, PRIZE, PRIZES, decode, refusal
from worker.ratings.events import IdentityLinked, TournamentPrizeAwarded
from worker.ratings.instants import DAY_MS, format_instant
from worker.ratings.refusal import Reason, Refusal
from worker.rules.pools import parse_pools
from worker.stream.decode import Decoder


def test_a_prize_becomes_a_value() -> None:
    decoded = decode(PRIZE, decoder=PRIZES)
    assert decoded.event == TournamentPrizeAwarded("gammon42", "t-1", "ann", 2, 25, AT_MS)
    assert (decoded.pool, decoded.instant_ms, decoded.refusal) == ("gammon42", AT_MS, None)


@pytest.mark.parametrize(("place", "amount"), [(1, 1), (2**31 - 1, 100_000)])
def test_the_ends_of_place_and_amount_pass(place: int, amount: int) -> None:
    event = decode({**PRIZE, "place": place, "amount": amount}, decoder=PRIZES).event
    assert event == TournamentPrizeAwarded("gammon42", "t-1", "ann", place, amount, AT_MS)


@pytest.mark.parametrize("number", [b"4", b"4.0", b"4e0", b"40e-1"])
def test_place_and_amount_with_a_zero_fraction_are_integers(number: bytes) -> None:
    value = json.dumps(PRIZE).encode().replace(b'"place": 2,', b'"place":%b,' % number)
    event = decode(value.replace(b'"amount": 25', b'"amount":%b' % number), decoder=PRIZES).event
    assert isinstance(event, TournamentPrizeAwarded)
    assert repr((event.place, event.amount)) == "(4, 4)"


def test_a_link_becomes_a_value() -> None:
    decoded = decode({**LINK, "linked_at": "2026-10-05T14:34:56.7899+02:00"}, decoder=LINKS)
    assert decoded.event == IdentityLinked("season0", "anon", "ann", AT_MS)
    assert (decoded.pool, decoded.instant_ms, decoded.refusal) == ("season0", AT_MS, None)


@pytest.mark.parametrize(
    ("decoder", "event", "pools"),
    [(PRIZES, PRIZE, ("blitzgammon", "nardeon", "season0")), (LINKS, LINK, ("gammon42", "blitzgammon", "nardeon"))],
)
def test_an_event_that_does_not_exist_for_the_pools_ruleset_is_refused(
    decoder: Decoder, event: dict[str, Any], pools: tuple[str, ...]
) -> None:
    for pool in pools:
        decoded = decode({**event, "pool": pool}, decoder=decoder)
        assert refusal(decoded).reason is Reason.WRONG_RULESET
        assert refusal(decoded).message.startswith(f'/pool is "{pool}", a {pool} pool, where there is no ')
        assert (decoded.pool, decoded.instant_ms) == (pool, AT_MS)


def test_a_pool_of_another_name_takes_what_its_ruleset_has() -> None:
    pools = parse_pools('[pools.one]\nruleset = "season0"\n[pools.two]\nruleset = "gammon42"\n')
    links, prizes = Decoder("identity-linked", pools), Decoder("tournament-prize-awarded", pools)
    assert decode({**LINK, "pool": "one"}, decoder=links).pool == "one"
    assert refusal(decode({**LINK, "pool": "two"}, decoder=links)).reason is Reason.WRONG_RULESET
    assert decode({**PRIZE, "pool": "two"}, decoder=prizes).pool == "two"
    assert refusal(decode({**PRIZE, "pool": "one"}, decoder=prizes)).reason is Reason.WRONG_RULESET


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"place": 0}, "/place must be at least 1, but is 0."),
        ({"place": 2**31}, "/place must be at most 2147483647, but is 2147483648."),
        ({"amount": 0}, "/amount must be at least 1, but is 0."),
        ({"amount": 100_001}, "/amount must be at most 100000, but is 100001."),
        ({"amount": 2.5}, "/amount must be an integer, but is 2.5."),
        ({"amount": "25"}, '/amount must be an integer, but is "25".'),
        ({"tournament_id": ""}, '/tournament_id must be a string of at least 1 character, but is "".'),
        (
            {"player_id": "x" * 129},
            "/player_id must be a string of at most 128 characters, but is a string of 129 characters.",
        ),
        ({"awarded_at": AT[:-1]}, "/awarded_at must be an instant such as 2026-07-01T12:34:56.789Z"),
    ],
)
def test_a_wrong_field_of_a_prize_is_named(changes: dict[str, Any], said: str) -> None:
    decoded = decode({**PRIZE, **changes}, decoder=PRIZES)
    assert refusal(decoded).reason is Reason.SCHEMA
    assert refusal(decoded).message.startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"anonymous_id": None}, "/anonymous_id must be a string, but is null."),
        ({"account_id": ""}, '/account_id must be a string of at least 1 character, but is "".'),
        ({"linked_at": "2026-02-29T00:00:00Z"}, "/linked_at must be an instant such as 2026-07-01T12:34:56.789Z"),
    ],
)
def test_a_wrong_field_of_a_link_is_named(changes: dict[str, Any], said: str) -> None:
    decoded = decode({**LINK, **changes}, decoder=LINKS)
    assert refusal(decoded).reason is Reason.SCHEMA
    assert refusal(decoded).message.startswith(said)


@pytest.mark.parametrize(("decoder", "event"), [(PRIZES, PRIZE), (LINKS, LINK)])
def test_every_field_of_a_prize_and_a_link_is_required(decoder: Decoder, event: dict[str, Any]) -> None:
    for field in event:
        rest = {name: value for name, value in event.items() if name != field}
        assert refusal(decode(rest, decoder=decoder)) == Refusal(Reason.SCHEMA, f"/{field} is required.")


def test_an_id_linked_to_itself_is_refused() -> None:
    decoded = decode({**LINK, "account_id": "anon"}, decoder=LINKS)
    said = '/account_id must be another player than /anonymous_id, but both are "anon".'
    assert refusal(decoded) == Refusal(Reason.SELF_MATCH, said)
    assert (decoded.pool, decoded.instant_ms) == ("season0", AT_MS)


FAR_AHEAD = format_instant(AT_MS + DAY_MS)


@pytest.mark.parametrize(
    ("decoder", "event", "faults"),
    [
        (
            PRIZES,
            PRIZE,
            [
                (Reason.SCHEMA, {"amount": 0}),
                (Reason.UNKNOWN_POOL, {"pool": "elsewhere"}),
                (Reason.WRONG_RULESET, {"pool": "season0"}),
                (Reason.IN_THE_FUTURE, {"awarded_at": FAR_AHEAD}),
            ],
        ),
        (
            LINKS,
            LINK,
            [
                (Reason.SCHEMA, {"anonymous_id": ""}),
                (Reason.UNKNOWN_POOL, {"pool": "elsewhere"}),
                (Reason.WRONG_RULESET, {"pool": "gammon42"}),
                (Reason.SELF_MATCH, {"anonymous_id": "ann", "pool": "season0"}),
                (Reason.IN_THE_FUTURE, {"linked_at": FAR_AHEAD}),
            ],
        ),
    ],
    ids=["prize", "link"],
)
def test_the_first_reason_of_the_contracts_order_is_given_for_prizes_and_links_too(
    decoder: Decoder, event: dict[str, Any], faults: list[tuple[Reason, dict[str, Any]]]
) -> None:
    for first, (reason, _) in enumerate(faults):
        wrong = dict(event)
        for _, changes in reversed(faults[first:]):
            wrong |= changes
        assert refusal(decode(wrong, decoder=decoder)).reason is reason


def test_an_id_linked_to_itself_too_late_is_a_self_match_first() -> None:
    timestamp_ms = AT_MS + 31 * DAY_MS
    assert refusal(decode(LINK, timestamp_ms, LINKS)).reason is Reason.TOO_LATE
    assert refusal(decode({**LINK, "account_id": "anon"}, timestamp_ms, LINKS)).reason is Reason.SELF_MATCH
    assert refusal(decode({**LINK, "pool": "nardeon"}, timestamp_ms, LINKS)).reason is Reason.WRONG_RULESET
