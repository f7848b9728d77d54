import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from worker.cli.simulation import DAY_MS, DEFAULT_POOLS, Kind, Published, Scenario, Shares, gammon42_matches, simulate
from worker.cli.simulation.presets import SPANS_CUT_OVER_MS
from worker.files import packaged
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import IdentityLinked
from worker.ratings.instants import parse_instant
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool, parse_pools
from worker.stream.decode import Decoded, Decoder

WEEK_MS = 7 * DAY_MS
MATCHES = 20_000
SHARES = Shares(late=0.05, duplicate=0.06, conflict=0.04, invalid=0.1, analyses=0.5)
EVERYTHING = Scenario(seed=7, matches=MATCHES, start_ms=SPANS_CUT_OVER_MS, players=300, shares=SHARES)
RATED = (Kind.MATCH, Kind.LATE)
FIRST_OF_A_MATCH = (*RATED, Kind.EXCLUDED)
EXCLUDED_REASONS = {
    *("boosted", "tournament", "computer", "casual", "elo-disabled", "private-room", "club-table", "one-screen"),
    *("guest", "same-address", "bot", "same-network"),
}
DEAD_LETTER_REASONS = {
    *("not-json", "schema", "unknown-pool", "self-match", "in-the-future", "too-late", "unpublished-formula"),
    *("wrong-ruleset", "conflict", "players-mismatch", "already-linked"),
}


@functools.cache
def published(scenario_of: str = "everything") -> tuple[Published, ...]:
    return tuple(simulate({"everything": EVERYTHING, "hot": gammon42_matches(MATCHES, players=300)}[scenario_of]))


def of_kind(*kinds: Kind) -> list[Published]:
    return [record for record in published() if record.kind in kinds]


@functools.cache
def pools() -> Mapping[str, Pool]:
    return parse_pools(packaged("deploy/pools.toml").read_text(encoding="utf-8"))


@functools.cache
def decoder(topic: str) -> Decoder:
    return Decoder(topic, pools())


def decoded(record: Published) -> Decoded:
    source = Source(record.topic, 0, 0)
    return decoder(record.topic).decode(Delivery(source, record.timestamp_ms, record.key, record.value))


def match_in(record: Published) -> MatchFinished:
    event = decoded(record).event
    assert isinstance(event, MatchFinished), record
    return event


def content(match: MatchFinished) -> MatchFinished:
    """What counts when a match comes again: everything but the PRs."""
    bare = (Player(player.id, player.kind) for player in (match.winner, match.loser))
    return structs.replace(match, **dict(zip(("winner", "loser"), bare, strict=True)))


@given(
    seed=st.integers(),
    matches=st.integers(0, 60),
    duration_ms=st.sampled_from([1, 1000, DAY_MS // 2, DAY_MS, 40 * DAY_MS]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    key=st.sampled_from(["match", "pool"]),
)
@settings(max_examples=60)
def test_every_run_can_be_repeated_and_stays_in_order_and_within_its_period(
    seed: int, matches: int, duration_ms: int, share: float, key: str
) -> None:
    scenario = Scenario(
        seed=seed,
        matches=matches,
        start_ms=SPANS_CUT_OVER_MS,
        players=4,
        duration_ms=duration_ms,
        shares=Shares(share, share, share, share, share),
        key=key,
    )
    records = list(simulate(scenario))
    assert records == list(simulate(scenario))
    moments = [record.timestamp_ms for record in records]
    assert moments == sorted(moments)
    assert all(scenario.start_ms <= moment <= scenario.end_ms for moment in moments)
    assert sum(record.kind in FIRST_OF_A_MATCH for record in records) == matches


def test_another_seed_or_start_gives_other_matches() -> None:
    few = replace(EVERYTHING, matches=200)
    ids = [
        {record.key for record in simulate(scenario) if record.kind in FIRST_OF_A_MATCH}
        for scenario in (few, replace(few, seed=8), replace(few, start_ms=few.start_ms + 1))
    ]
    assert len(set.union(*ids)) == 600


def test_the_players_of_a_seed_are_the_same_in_the_next_period() -> None:
    few = replace(gammon42_matches(2000, players=20), seed=3)
    one, next_one = (
        {match_in(record).winner.id for record in simulate(scenario)}
        for scenario in (few, replace(few, start_ms=few.start_ms + WEEK_MS))
    )
    assert one & next_one == one | next_one


def test_the_stated_shares_hold() -> None:
    count = Counter(record.kind for record in published())
    duplicates = [record for record in of_kind(Kind.DUPLICATE) if record.topic == "match-finished"]
    assert sum(count[kind] for kind in FIRST_OF_A_MATCH) == MATCHES
    assert count[Kind.LATE] == pytest.approx(SHARES.late * MATCHES, rel=0.15)
    assert len(duplicates) == pytest.approx(SHARES.duplicate * MATCHES, rel=0.15)
    assert count[Kind.CONFLICT] == pytest.approx(SHARES.conflict * MATCHES, rel=0.15)
    assert count[Kind.INVALID] == pytest.approx(SHARES.invalid * MATCHES, rel=0.15)
    assert len(published()) == pytest.approx(EVERYTHING.expected_records, rel=0.05)


def test_the_stated_share_of_blitz_matches_is_analysed() -> None:
    blitz = {record.key for record in of_kind(*FIRST_OF_A_MATCH) if match_in(record).pool == "blitzgammon"}
    analysed = {
        record.key for record in of_kind(Kind.ANALYSIS, Kind.EARLY_ANALYSIS, Kind.IGNORED_ANALYSIS, Kind.REVISION)
    }
    assert analysed <= blitz
    assert len(analysed) == pytest.approx(SHARES.analyses * len(blitz), rel=0.1)


def test_every_valid_record_passes_the_decoder_and_counts_as_stated() -> None:
    for record in published():
        if record.kind is Kind.INVALID:
            continue
        read = decoded(record)
        assert read.event is not None, (record, read.refusal)
        if record.kind in FIRST_OF_A_MATCH:
            assert isinstance(read.event, MatchFinished)
            assert pools()[read.event.pool].rules.exclusion(read.event) == record.reason


def test_every_invalid_record_is_refused_for_the_stated_reason() -> None:
    for record in of_kind(Kind.INVALID):
        if record.reason != "players-mismatch":
            refusal = decoded(record).refusal
            assert refusal is not None, record
            assert refusal.reason == record.reason, record


def test_every_excluded_reason_and_every_dead_letter_reason_appears() -> None:
    assert {record.reason for record in of_kind(Kind.EXCLUDED)} == EXCLUDED_REASONS
    assert {record.reason for record in of_kind(Kind.INVALID, Kind.CONFLICT)} == DEAD_LETTER_REASONS


def test_tombstones_and_empty_values_are_among_the_invalid() -> None:
    assert {None, b""} <= {record.value for record in of_kind(Kind.INVALID)}


def test_late_is_what_is_older_than_a_match_of_its_players_and_nothing_else_is() -> None:
    newest: dict[tuple[str, str], int] = {}
    accounts: dict[tuple[str, str], str] = {}
    hours = []
    for record in of_kind(*RATED, Kind.LINK):
        if record.kind is Kind.LINK:
            link = decoded(record).event
            assert isinstance(link, IdentityLinked)
            accounts[link.pool, link.anonymous_id] = link.account_id
            anonymous, account = (link.pool, link.anonymous_id), (link.pool, link.account_id)
            newest.setdefault(account, newest.get(anonymous, 0))
            continue
        match = match_in(record)
        ids = [accounts.get((match.pool, player.id), player.id) for player in (match.winner, match.loser)]
        players = [(match.pool, player_id) for player_id in ids]
        late = any(newest.get(player, 0) > match.finished_at_ms for player in players)
        assert late == (record.kind is Kind.LATE)
        if late:
            hours.append((record.timestamp_ms - match.finished_at_ms) / 3_600_000)
        for player in players:
            newest[player] = max(newest.get(player, 0), match.finished_at_ms)
    assert max(hours) > 48
    assert sorted(hours)[len(hours) // 2] > 1


def test_a_duplicate_says_the_same_as_the_match_before_it_and_a_conflict_does_not() -> None:
    known: dict[bytes, MatchFinished] = {}
    rewritten = 0
    values = {record.key: record.value for record in of_kind(*FIRST_OF_A_MATCH)}
    for record in of_kind(*FIRST_OF_A_MATCH, Kind.DUPLICATE, Kind.CONFLICT):
        if record.topic != "match-finished":
            continue
        match = content(match_in(record))
        if record.kind in FIRST_OF_A_MATCH:
            assert record.key not in known
            known[record.key] = match
        else:
            assert (known[record.key] == match) == (record.kind is Kind.DUPLICATE)
            rewritten += record.kind is Kind.DUPLICATE and record.value != values[record.key]
    assert rewritten > 100


def test_analyses_come_before_after_again_and_for_nothing() -> None:
    matches = {record.key: index for index, record in enumerate(published()) if record.kind in FIRST_OF_A_MATCH}
    revisions: dict[bytes, int] = {}
    for index, record in enumerate(published()):
        if record.topic != "match-analyzed" or record.kind is Kind.INVALID:
            continue
        known = record.key in matches
        assert known == (record.kind is not Kind.UNKNOWN_ANALYSIS)
        if record.kind in (Kind.ANALYSIS, Kind.EARLY_ANALYSIS, Kind.REVISION):
            revision = orjson.loads(record.value or b"").get("revision", 1)
            assert (index < matches[record.key]) == (record.kind is Kind.EARLY_ANALYSIS)
            assert revision == revisions.get(record.key, 0) + 1
            revisions[record.key] = revision
    assert set(revisions.values()) == {1, 2, 3}
    assert {Kind.UNKNOWN_ANALYSIS, Kind.IGNORED_ANALYSIS, Kind.EARLY_ANALYSIS} <= {r.kind for r in published()}


def test_every_revision_turns_what_the_one_before_it_said() -> None:
    winners = {record.key: match_in(record).winner.id for record in of_kind(*RATED)}
    halved: dict[bytes, bool] = {}
    turns = 0
    for record in of_kind(Kind.ANALYSIS, Kind.EARLY_ANALYSIS, Kind.REVISION):
        prs = {player["player_id"]: player["pr"] for player in orjson.loads(record.value or b"")["players"]}
        winner = prs.pop(winners[record.key])
        (loser,) = prs.values()
        now_halved = None not in (winner, loser) and winner > loser
        if record.key in halved:
            assert now_halved != halved[record.key]
            turns += 1
        halved[record.key] = now_halved
    assert turns > 100
    assert set(halved.values()) == {True, False}


def test_an_analysis_of_strangers_follows_its_match() -> None:
    seen = set()
    mismatches = 0
    for record in published():
        if record.kind in RATED:
            seen.add(record.key)
        if record.reason == "players-mismatch":
            mismatches += 1
            assert record.key in seen
            assert decoded(record).event is not None
    assert mismatches


def test_the_busiest_of_the_benchmark_play_more_than_50_games_a_week() -> None:
    records = published("hot")
    assert len(records) == MATCHES
    assert {record.kind for record in records} == {Kind.MATCH}
    games: Counter[str] = Counter()
    for record in records:
        event = orjson.loads(record.value or b"")
        if parse_instant(event["finished_at"]) >= records[-1].timestamp_ms - WEEK_MS:
            games.update(event[side]["player_id"] for side in ("winner", "loser"))
    hot = sum(number > 50 for number in games.values())
    assert 10 < hot < 250


def test_the_stronger_win_more() -> None:
    wins: Counter[str] = Counter()
    games: Counter[str] = Counter()
    for record in published("hot"):
        event = orjson.loads(record.value or b"")
        wins[event["winner"]["player_id"]] += 1
        games.update(event[side]["player_id"] for side in ("winner", "loser"))
    rates = sorted(wins[player] / games[player] for player in games if games[player] > 200)
    assert rates[0] < 0.4
    assert rates[-1] > 0.6


def test_matches_fall_under_two_formula_versions_where_the_period_spans_a_cut_over() -> None:
    cut_over = parse_instant("2026-10-01T00:00:00Z")
    sides = {match_in(record).finished_at_ms >= cut_over for record in of_kind(Kind.MATCH)}
    assert sides == {False, True}


def test_keys_are_match_ids_unless_they_are_to_be_pools() -> None:
    by_pool = list(simulate(replace(EVERYTHING, matches=500, key="pool")))
    assert {record.key.decode() for record in by_pool} == set(DEFAULT_POOLS)
    by_match = [record for record in simulate(replace(EVERYTHING, matches=500)) if record.kind in FIRST_OF_A_MATCH]
    assert all(record.key.decode() == match_in(record).match_id for record in by_match)


def test_any_pool_names_go_with_their_rulesets() -> None:
    scenario = replace(EVERYTHING, matches=300, pools={"blitz-eu": "blitzgammon", "blitz-us": "blitzgammon"})
    names = {
        orjson.loads(record.value or b"")["pool"] for record in simulate(scenario) if record.kind is not Kind.INVALID
    }
    assert names == {"blitz-eu", "blitz-us"}


@pytest.mark.parametrize("wrong", [{"matches": -1}, {"players": 1}, {"duration_ms": 0}, {"pools": {}}])
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"match|player|duration|pool"):
        replace(EVERYTHING, **wrong)


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="late"):
        Shares(late=1.5)
