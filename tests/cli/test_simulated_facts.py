"""Prizes and links among what is simulated, and what goes wrong with them."""

import functools
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ratings.ladder import POOLS as DEFAULTS
from tests.ratings.ladder import Ladder
from worker.cli.demo.tally import Stated
from worker.cli.simulation import DAY_MS, Kind, Published, Scenario, Shares, gammon42_matches, mixed, simulate
from worker.cli.simulation.presets import SPANS_CUT_OVER_MS
from worker.ratings.delivery import Delivery, Source
from worker.ratings.instants import parse_instant
from worker.ratings.outcome import Kind as Outcome
from worker.stream.decode import Decoder

PRIZES, LINKS, MATCHES = "tournament-prize-awarded", "identity-linked", "match-finished"
POOLS = {"gammon42": "gammon42", "season0": "season0", "nardeon": "nardeon"}
SHARES = Shares(late=0.1, duplicate=0.04, conflict=0.02, invalid=0.1, analyses=0, prizes=0.02, links=0.02)
MANY = Scenario(3, 12_000, SPANS_CUT_OVER_MS, POOLS, players=400, shares=SHARES)
NOT_ITS_OWN = ("not-json", "schema", "unknown-pool", "in-the-future", "too-late", "wrong-ruleset")
RATED = (Kind.MATCH, Kind.LATE)

Event = dict[str, Any]


@functools.cache
def published() -> tuple[Published, ...]:
    return tuple(simulate(MANY))


def event_in(record: Published) -> Event:
    event = orjson.loads(record.value or b"")
    assert isinstance(event, dict)
    return event


def events(topic: str, *kinds: Kind) -> list[Event]:
    return [event_in(record) for record in published() if record.topic == topic and record.kind in kinds]


def ids(match: Event) -> list[str]:
    return [match[side]["player_id"] for side in ("winner", "loser")]


def matches_and_links() -> Iterator[tuple[Published, Event]]:
    for record in published():
        if record.topic in (MATCHES, LINKS) and record.kind in (*RATED, Kind.EXCLUDED, Kind.LINK):
            event = event_in(record)
            if event["pool"] == "season0":
                yield record, event


@pytest.mark.parametrize("scenario", [gammon42_matches(3000), mixed(3000)], ids=["gammon42_matches", "mixed"])
def test_what_benchmarks_and_tests_share_has_no_prizes_and_no_links(scenario: Scenario) -> None:
    assert {record.topic for record in simulate(scenario)} <= {MATCHES, "match-analyzed"}


def test_what_has_no_share_leaves_no_trace_even_of_mistakes() -> None:
    shares = Shares(late=0.1, duplicate=1, conflict=1, invalid=1, prizes=0, links=0.1)
    assert PRIZES not in {record.topic for record in simulate(replace(MANY, matches=500, shares=shares))}


def test_the_stated_shares_of_prizes_and_links_hold() -> None:
    a_third = MANY.matches / 3
    prizes, links = len(events(PRIZES, Kind.PRIZE)), len(events(LINKS, Kind.LINK))
    assert prizes == pytest.approx(SHARES.prizes * a_third, rel=0.1)
    assert links == pytest.approx(SHARES.links * a_third, rel=0.1)
    repeated = len(events(PRIZES, Kind.DUPLICATE)) + len(events(LINKS, Kind.DUPLICATE))
    contradicted = len(events(PRIZES, Kind.CONFLICT)) + len(events(LINKS, Kind.CONFLICT))
    assert repeated == pytest.approx(10 * SHARES.duplicate * (prizes + links), rel=0.3)
    assert contradicted == pytest.approx(10 * SHARES.conflict * (prizes + links), rel=0.4)
    assert len(published()) == pytest.approx(MANY.expected_records, rel=0.05)


def test_a_tournament_gives_its_first_places_falling_amounts_once_each() -> None:
    by_tournament = defaultdict(list)
    for prize in events(PRIZES, Kind.PRIZE):
        by_tournament[prize["tournament_id"]].append(prize)
    assert len(by_tournament) > 10
    for prizes in by_tournament.values():
        assert [prize["place"] for prize in prizes] == list(range(1, len(prizes) + 1))
        amounts = [prize["amount"] for prize in prizes]
        assert amounts == sorted(amounts, reverse=True)
        assert len({prize["player_id"] for prize in prizes}) == len(prizes) in (3, 4)
        assert {prize["pool"] for prize in prizes} == {"gammon42"}


def test_prizes_go_to_those_who_play_and_now_and_then_to_somebody_who_never_does() -> None:
    playing = {player for match in events(MATCHES, *RATED) if match["pool"] == "gammon42" for player in ids(match)}
    winners = Counter(prize["player_id"] in playing for prize in events(PRIZES, Kind.PRIZE))
    assert 0 < winners[False] < winners[True] / 4


@pytest.mark.parametrize(
    ("topic", "first", "reason"), [(PRIZES, Kind.PRIZE, "conflict"), (LINKS, Kind.LINK, "already-linked")]
)
def test_what_repeats_or_contradicts_follows_under_the_same_key(topic: str, first: Kind, reason: str) -> None:
    content = {PRIZES: ("pool", "player_id", "place", "amount"), LINKS: ("pool", "anonymous_id", "account_id")}[topic]
    said: dict[bytes, set[tuple[Any, ...]]] = defaultdict(set)
    for record in published():
        if record.topic != topic or record.kind is Kind.INVALID:
            continue
        says = tuple(event_in(record)[name] for name in content)
        if record.kind is first:
            said[record.key].add(says)
        else:
            assert (says in said[record.key]) == (record.kind is Kind.DUPLICATE)
            assert said[record.key]
            assert record.reason == (reason if record.kind is Kind.CONFLICT else None)


def test_a_conflicting_prize_is_the_same_player_s_in_the_same_tournament() -> None:
    paid = {(prize["tournament_id"], prize["player_id"]): prize for prize in events(PRIZES, Kind.PRIZE)}
    differing = Counter(
        name
        for prize in events(PRIZES, Kind.CONFLICT)
        for name in ("amount", "place")
        if prize[name] != paid[prize["tournament_id"], prize["player_id"]][name]
    )
    assert set(differing) == {"amount", "place"}


def test_an_already_linked_id_is_named_in_every_role() -> None:
    linked = {link["anonymous_id"]: link["account_id"] for link in events(LINKS, Kind.LINK)}
    accounts = set(linked.values())
    roles = {
        (link["anonymous_id"] in linked, link["anonymous_id"] in accounts, link["account_id"] in {*linked, *accounts})
        for link in events(LINKS, Kind.CONFLICT)
    }
    assert {(True, False, False), (False, False, True), (False, True, False), (False, True, True)} <= roles


def test_every_id_is_linked_once_and_only_after_it_has_played() -> None:
    games: Counter[str] = Counter()
    links = 0
    named: set[str] = set()
    known = 0
    for record, event in matches_and_links():
        if record.kind is Kind.LINK:
            links += 1
            pair = {event["anonymous_id"], event["account_id"]}
            assert len(pair) == 2
            assert not pair & named
            named |= pair
            assert games[event["anonymous_id"]] >= 3
            known += games[event["account_id"]] > 0
        else:
            games.update(ids(event))
    assert links / 10 < known < links / 2


def test_after_a_link_matches_come_under_either_id_also_late_ones() -> None:
    linked: dict[str, str] = {}
    kinds: Counter[tuple[str, Kind]] = Counter()
    for record, event in matches_and_links():
        if record.kind is Kind.LINK:
            linked[event["anonymous_id"]] = event["account_id"]
        else:
            for player in ids(event):
                kinds["anonymous", record.kind] += player in linked
                kinds["account", record.kind] += player in linked.values()
    assert kinds["account", Kind.MATCH] > kinds["anonymous", Kind.MATCH] > 20
    assert kinds["account", Kind.LATE] > 5
    assert kinds["anonymous", Kind.LATE] > 5


def test_nobody_plays_the_own_other_id_but_where_the_record_says_so_after_the_link() -> None:
    pairs = [{link["anonymous_id"], link["account_id"]} for link in events(LINKS, Kind.LINK)]
    for match in events(MATCHES, *RATED, Kind.EXCLUDED, Kind.DUPLICATE, Kind.CONFLICT):
        assert set(ids(match)) not in pairs
    linked: list[set[str]] = []
    against = 0
    for record in published():
        if record.kind is Kind.LINK:
            linked.append({event_in(record)["anonymous_id"], event_in(record)["account_id"]})
        elif record.kind is Kind.AGAINST_ONESELF:
            against += 1
            assert set(ids(event_in(record))) in linked
            assert record.reason == "self-match"
    assert against > 10


@pytest.mark.parametrize(("topic", "more"), [(PRIZES, ()), (LINKS, ("self-match",))])
def test_every_reason_to_refuse_appears_on_both_topics(topic: str, more: tuple[str, ...]) -> None:
    invalid = [record for record in published() if record.topic == topic and record.kind is Kind.INVALID]
    assert {record.reason for record in invalid} == {*NOT_ITS_OWN, *more}
    its_own = {PRIZES: "gammon42", LINKS: "season0"}[topic]
    for record in invalid:
        if record.reason == "wrong-ruleset":
            assert event_in(record)["pool"] in set(POOLS) - {its_own}


def test_instants_are_near_their_records_and_some_records_are_slow() -> None:
    names = {PRIZES: "awarded_at", LINKS: "linked_at"}
    ages = [
        record.timestamp_ms - parse_instant(event_in(record)[names[record.topic]])
        for record in published()
        if record.kind in (Kind.PRIZE, Kind.LINK)
    ]
    assert min(ages) >= 0
    assert max(ages) <= 3 * DAY_MS + 1000
    assert 0 < sum(age > 600_000 for age in ages) < len(ages) / 2


def test_the_same_seed_links_the_same_ids_in_the_next_period() -> None:
    def links(start_ms: int) -> dict[str, str]:
        records = simulate(replace(MANY, matches=4000, start_ms=start_ms))
        pairs = [event_in(record) for record in records if record.kind is Kind.LINK]
        return {link["anonymous_id"]: link["account_id"] for link in pairs}

    one, next_one = links(MANY.start_ms), links(MANY.start_ms + 14 * DAY_MS)
    assert one.keys() & next_one.keys()
    assert all(one[anonymous_id] == next_one[anonymous_id] for anonymous_id in one.keys() & next_one.keys())
    taken = Counter((one | next_one).values())
    assert set(taken.values()) == {1}


@given(seed=st.integers(), players=st.integers(2, 5), share=st.sampled_from([0.2, 1.0]))
@settings(max_examples=40)
def test_few_players_are_enough(seed: int, players: int, share: float) -> None:
    shares = Shares(share, share, share, share, share, share, share)
    scenario = Scenario(seed, 80, SPANS_CUT_OVER_MS, POOLS, players, DAY_MS, shares)
    records = list(simulate(scenario))
    assert records == list(simulate(scenario))
    assert [record.timestamp_ms for record in records] == sorted(record.timestamp_ms for record in records)
    for record in records:
        if record.kind in RATED:
            assert len(set(ids(event_in(record)))) == 2


@functools.cache
def decoder(topic: str) -> Decoder:
    return Decoder(topic, DEFAULTS)


def in_some_order(records: list[Published], random: Random) -> Iterator[Published]:
    """Yield the records as workers may come to read three partitions a topic: any may be far ahead of any other."""
    partitions: dict[tuple[str, int], deque[Published]] = defaultdict(deque)
    for record in records:
        partitions[record.topic, sum(record.key) % 3].append(record)
    ahead = {place: random.random() ** 4 for place in partitions}
    while partitions:
        places = list(partitions)
        place = random.choices(places, [ahead[place] for place in places])[0]
        yield partitions[place].popleft()
        if not partitions[place]:
            del partitions[place]


@given(seed=st.integers(0, 50), order=st.integers())
@settings(max_examples=60)
def test_what_is_stated_comes_true_in_whatever_order_the_partitions_are_read(seed: int, order: int) -> None:
    shares = Shares(late=0.1, duplicate=0.08, conflict=0.05, invalid=0.3, analyses=0, prizes=0.05, links=0.08)
    pools = {"gammon42": "gammon42", "season0": "season0"}
    stated, ladders = Stated(), {pool: Ladder(pool) for pool in pools}
    found: Counter[tuple[Outcome, str, str]] = Counter()
    letters: Counter[str] = Counter()
    rated: set[tuple[str, str]] = set()
    records = list(simulate(Scenario(seed, 250, SPANS_CUT_OVER_MS, pools, players=25, shares=shares)))
    for record in in_some_order(records, Random(order)):
        stated.add(record)
        read = decoder(record.topic).decode(
            Delivery(Source(record.topic, 0, 0), record.timestamp_ms, record.key, record.value)
        )
        if read.event is None:
            assert read.refusal is not None
            letters[read.refusal.reason] += 1
            continue
        outcome = ladders[read.event.pool].send(read.event, record.timestamp_ms)
        found[outcome.kind, read.event.pool, record.topic] += 1
        if outcome.kind is Outcome.RATED:
            rated.add((read.event.pool, outcome.match_id))
    letters.update(reason for ladder in ladders.values() for reason in ladder.reasons())
    stated.settle(rated)
    assert letters == stated.letters
    for outcome_kind, counted in (
        (Outcome.RATED, stated.rated),
        (Outcome.AWARDED, stated.awarded),
        (Outcome.LINKED, stated.linked),
    ):
        assert Counter({key[1]: number for key, number in found.items() if key[0] is outcome_kind}) == counted
    repeated = {(pool, topic): number for (kind, pool, topic), number in found.items() if kind is Outcome.DUPLICATE}
    assert repeated == stated.duplicates
