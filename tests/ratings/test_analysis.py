import pytest
from msgspec.structs import replace

from tests.ratings.ladder import AT, DAY, HOUR, Ladder
from worker.ratings.analysis import PARKED_PAIRS, PARKED_REVISIONS
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason

SETTLES_BY = AT + 30 * DAY
WORSE, BETTER = 9.0, 4.0
"""PRs: the winner who has WORSE against BETTER gets half."""


def a_played_match(**changed):
    ladder = Ladder()
    ladder.match(**changed)
    return ladder


def refused_with(outcome):
    assert outcome.kind is Kind.REFUSED
    assert not outcome.rows
    assert outcome.record is None
    assert outcome.parked is None
    [letter] = outcome.letters
    return letter.refusal


class TestPrsInsideTheMatch:
    def test_settle_it_at_once_as_revision_0(self):
        ladder = a_played_match(prs=(WORSE, BETTER))
        assert ladder.ratings() == {"ann": 1512, "bob": 1488}
        for event in ladder.values():
            assert event["final"] is True
            assert "settles_by" not in event
            assert (event["details"]["revision"], event["details"]["halved"]) == (0, True)

    @pytest.mark.parametrize("prs", [(WORSE, None), (None, BETTER), (None, None)])
    def test_are_not_there_yet_while_one_is_missing(self, prs):
        ladder = a_played_match(prs=prs)
        assert ladder.ratings() == {"ann": 1523, "bob": 1477}
        for event in ladder.values():
            assert event["final"] is False
            assert event["settles_by"] == "2026-12-01T12:00:00.000Z"
            assert (event["details"]["revision"], event["details"]["halved"]) == (None, False)

    @pytest.mark.parametrize("prs", [(BETTER, WORSE), (WORSE, WORSE), (0.0, 0.0)])
    def test_keep_the_full_change_for_a_better_winner_and_for_a_tie(self, prs):
        ladder = a_played_match(prs=prs)
        assert ladder.ratings() == {"ann": 1523, "bob": 1477}
        assert ladder.values()[0]["details"]["revision"] == 0

    def test_give_way_to_any_analysis(self):
        ladder = a_played_match(prs=(WORSE, BETTER))
        assert ladder.analysis(BETTER, WORSE, revision=1).kind is Kind.SETTLED
        assert ladder.ratings() == {"ann": 1523, "bob": 1477}

    def test_give_way_to_an_analysis_that_was_parked(self):
        ladder = Ladder()
        ladder.analysis(BETTER, WORSE, revision=1)
        ladder.match(prs=(WORSE, BETTER))
        assert ladder.ratings() == {"ann": 1523, "bob": 1477}
        assert ladder.values()[0]["details"]["revision"] == 1


class TestAnAnalysisAfterItsMatch:
    def test_exchanges_the_contribution_and_is_final(self):
        ladder = a_played_match()
        outcome = ladder.analysis(WORSE, BETTER)
        assert outcome.kind is Kind.SETTLED
        assert ladder.ratings() == {"ann": 1512, "bob": 1488}
        ann, bob = ladder.values()[2:]
        assert (ann["before"], ann["change"], ann["after"]) == (1523, -11, 1512)
        assert (bob["before"], bob["change"], bob["after"]) == (1477, 11, 1488)
        for event in (ann, bob):
            assert event["cause"] == {"type": "match-analyzed", "match_id": "m-1", "revision": 1}
            assert (event["final"], event["late"], event["rated_games"]) == (True, False, 1)
            assert (event["details"]["halved"], event["details"]["revision"]) == (True, 1)
            assert event["occurred_at"] == "2026-11-01T13:00:00.000Z"

    def test_names_the_players_in_any_order(self):
        ladder = a_played_match()
        ladder.analysis(BETTER, WORSE, players=("bob", "ann"))
        assert ladder.ratings() == {"ann": 1512, "bob": 1488}

    def test_repeats_the_terms_of_the_match(self):
        ladder = a_played_match()
        ladder.match("m-2", "ann", "cem", at=AT + HOUR)
        ladder.analysis(WORSE, BETTER)
        of_match, of_analysis = ladder.values()[0]["details"], ladder.values()[4]["details"]
        assert of_analysis == {**of_match, "halved": True, "revision": 1}

    def test_emits_a_change_of_0_where_nothing_changes(self):
        ladder = a_played_match()
        ladder.analysis(BETTER, WORSE)
        assert [event["change"] for event in ladder.values()[2:]] == [0, 0]
        assert [event["seq"] for event in ladder.values()[2:]] == [2, 2]

    def test_without_a_pr_is_final_with_the_full_change(self):
        ladder = a_played_match()
        assert ladder.analysis(None, BETTER).kind is Kind.SETTLED
        assert [(event["change"], event["final"]) for event in ladder.values()[2:]] == [(0, True), (0, True)]
        assert ladder.analysis(WORSE, BETTER, revision=1).kind is Kind.DUPLICATE

    def test_flips_back_and_forth_with_higher_revisions(self):
        ladder = a_played_match()
        for revision, prs, ratings in (
            (1, (WORSE, BETTER), (1512, 1488)),
            (2, (BETTER, WORSE), (1523, 1477)),
            (3, (WORSE, BETTER), (1512, 1488)),
            (7, (None, None), (1523, 1477)),
        ):
            assert ladder.analysis(*prs, revision=revision).kind is Kind.SETTLED
            assert (ladder.rating("ann"), ladder.rating("bob")) == ratings

    @pytest.mark.parametrize("revision", [1, 2, 3])
    def test_of_a_revision_that_is_not_higher_is_a_duplicate(self, revision):
        ladder = a_played_match()
        ladder.analysis(BETTER, WORSE, revision=3)
        outcome = ladder.analysis(WORSE, BETTER, revision=revision)
        assert outcome.kind is Kind.DUPLICATE
        assert ladder.ratings() == {"ann": 1523, "bob": 1477}
        assert len(ladder.values()) == 4

    def test_that_names_others_is_a_mismatch_whatever_its_revision_and_age(self):
        ladder = a_played_match()
        ladder.analysis(WORSE, BETTER, revision=3)
        for revision, timestamp in ((1, AT + DAY), (4, AT + DAY), (4, SETTLES_BY + 1)):
            outcome = ladder.analysis(WORSE, BETTER, revision, players=("ann", "cem"), timestamp=timestamp)
            assert refused_with(outcome).reason is Reason.PLAYERS_MISMATCH

    def test_may_be_published_until_settles_by_and_not_later(self):
        late = a_played_match().analysis(WORSE, BETTER, timestamp=SETTLES_BY + 1)
        assert refused_with(late).reason is Reason.TOO_LATE
        assert a_played_match().analysis(WORSE, BETTER, timestamp=SETTLES_BY).kind is Kind.SETTLED

    def test_keeps_the_floor_for_both_players_and_owes_nothing(self):
        ladder = a_played_match(prs=(WORSE, BETTER))
        rows_ = ladder.state.rows
        rows_["ann"], rows_["bob"] = replace(rows_["ann"], rating=105), replace(rows_["bob"], rating=103)
        ladder.analysis(BETTER, WORSE, revision=1)
        assert ladder.ratings() == {"ann": 116, "bob": 100}
        assert ladder.values()[3]["details"]["floored_by"] == 8
        ladder.analysis(WORSE, BETTER, revision=2)
        assert ladder.ratings() == {"ann": 105, "bob": 103}
        rows_["ann"] = replace(rows_["ann"], rating=100)
        ladder.analysis(BETTER, WORSE, revision=3)
        rows_["ann"] = replace(rows_["ann"], rating=104)
        ladder.analysis(WORSE, BETTER, revision=4)
        assert ladder.rating("ann") == 100
        assert ladder.values()[-2]["details"]["floored_by"] == 7

    def test_before_the_horizon_is_too_late(self):
        ladder = a_played_match()
        ladder.state.horizon_ms = AT + HOUR
        assert ladder.analysis(WORSE, BETTER, at=AT + HOUR).kind is Kind.SETTLED
        refusal = refused_with(ladder.analysis(WORSE, BETTER, revision=2, at=AT + HOUR - 1))
        assert refusal.reason is Reason.TOO_LATE
        assert "/analyzed_at" in refusal.message


class TestAnAnalysisThatChangesNothingAnyway:
    def test_is_ignored_for_an_excluded_match_whoever_it_names(self):
        ladder = a_played_match(mode="casual")
        assert ladder.analysis(WORSE, BETTER).kind is Kind.IGNORED
        assert ladder.analysis(WORSE, BETTER, players=("x", "y")).kind is Kind.IGNORED

    @pytest.mark.parametrize("ruleset", ["gammon42", "nardeon", "season0"])
    def test_is_ignored_where_the_ruleset_has_no_pr_rule(self, ruleset):
        ladder = Ladder(ruleset)
        assert ladder.analysis(WORSE, BETTER).kind is Kind.IGNORED
        ladder.match()
        assert ladder.analysis(WORSE, BETTER).kind is Kind.IGNORED
        assert ladder.state.parked == {}

    def test_is_dropped_and_counted_when_its_match_turns_out_to_be_excluded(self):
        ladder = Ladder()
        ladder.analysis(WORSE, BETTER, revision=1)
        ladder.analysis(WORSE, BETTER, revision=2, players=("x", "y"))
        outcome = ladder.match(mode="ai")
        assert (outcome.kind, outcome.ignored, outcome.letters) == (Kind.EXCLUDED, 2, ())
        assert ladder.state.parked == {}


class TestAnAnalysisBeforeItsMatch:
    def test_is_parked_with_its_bytes_and_settles_the_match_at_once(self):
        ladder = Ladder()
        assert ladder.analysis(WORSE, BETTER).kind is Kind.PARKED
        assert ladder.values() == []
        assert ladder.match().kind is Kind.RATED
        assert ladder.ratings() == {"ann": 1512, "bob": 1488}
        assert ladder.state.parked == {}
        events = ladder.values()
        assert [event["cause"]["type"] for event in events] == ["match-finished", "match-finished"]
        assert {(event["final"], event["details"]["revision"], event["details"]["halved"]) for event in events} == {
            (True, 1, True)
        }

    def test_of_the_highest_revision_wins_in_whatever_order_they_came(self):
        for revisions in ((1, 2, 3), (3, 1, 2), (2, 3, 1)):
            ladder = Ladder()
            for revision in revisions:
                prs = (WORSE, BETTER) if revision == 3 else (BETTER, WORSE)
                ladder.analysis(*prs, revision=revision)
            ladder.match()
            assert ladder.ratings() == {"ann": 1512, "bob": 1488}
            assert ladder.analysis(BETTER, WORSE, revision=3).kind is Kind.DUPLICATE
            assert ladder.reasons() == []

    def test_that_names_others_becomes_a_letter_with_its_own_coordinates_and_bytes(self):
        ladder = Ladder()
        ladder.analysis(WORSE, BETTER, revision=9, players=("ann", "cem"))
        ladder.analysis(WORSE, BETTER, revision=1)
        ladder.match()
        assert ladder.values()[0]["details"]["revision"] == 1
        [letter] = [message for message in ladder.published if message.topic == "match-analyzed.dlt"]
        assert (letter.key, letter.value) == (b"key", b'{"id":"m-1"}')
        headers = dict(letter.headers)
        assert (headers["dlt-reason"], headers["dlt-topic"]) == (b"players-mismatch", b"match-analyzed")
        assert (headers["dlt-partition"], headers["dlt-offset"]) == (b"0", b"0")

    def test_that_only_names_others_leaves_the_match_waiting(self):
        ladder = Ladder()
        ladder.analysis(WORSE, BETTER, players=("x", "y"))
        ladder.match()
        assert ladder.reasons() == ["players-mismatch"]
        assert ladder.values()[0]["final"] is False

    def test_is_too_late_if_it_was_published_after_settles_by(self):
        ladder = Ladder()
        ladder.analysis(WORSE, BETTER, revision=3, timestamp=SETTLES_BY + 1)
        ladder.analysis(BETTER, WORSE, revision=2, timestamp=SETTLES_BY)
        ladder.match()
        assert ladder.reasons() == ["too-late"]
        assert ladder.values()[0]["details"]["revision"] == 2

    def test_of_a_revision_parked_already_is_a_duplicate_for_that_pair_only(self):
        ladder = Ladder()
        ladder.analysis(WORSE, BETTER)
        assert ladder.analysis(BETTER, WORSE).kind is Kind.DUPLICATE
        assert ladder.analysis(BETTER, WORSE, players=("bob", "ann")).kind is Kind.DUPLICATE
        assert ladder.analysis(BETTER, WORSE, players=("x", "y")).kind is Kind.PARKED


class TestParking:
    def test_keeps_the_8_highest_revisions_of_a_pair_and_counts_what_is_pushed_out(self):
        ladder = Ladder()
        for revision in range(10, 10 + PARKED_REVISIONS):
            assert ladder.analysis(WORSE, BETTER, revision).pushed_out == 0
        assert ladder.analysis(WORSE, BETTER, 9).kind is Kind.PUSHED_OUT
        higher = ladder.analysis(WORSE, BETTER, 99)
        assert (higher.kind, higher.pushed_out) == (Kind.PARKED, 1)
        revisions = sorted(waiting.revision for waiting in ladder.state.parked["m-1"].analyses)
        assert revisions == [11, 12, 13, 14, 15, 16, 17, 99]
        assert PARKED_REVISIONS == 8

    def test_keeps_4_pairs_of_a_match_and_still_takes_more_of_those(self):
        ladder = Ladder()
        for number in range(PARKED_PAIRS):
            assert ladder.analysis(WORSE, BETTER, players=("ann", f"p-{number}")).kind is Kind.PARKED
        assert ladder.analysis(WORSE, BETTER, players=("ann", "bob")).kind is Kind.PUSHED_OUT
        assert ladder.analysis(WORSE, BETTER, 2, players=("p-0", "ann")).kind is Kind.PARKED
        assert ladder.analysis(WORSE, BETTER, match_id="m-2").kind is Kind.PARKED
        ladder.match("m-1")
        assert ladder.reasons() == ["players-mismatch"] * 5
        assert PARKED_PAIRS == 4

    def test_gives_every_version_another_name(self):
        ladder = Ladder()
        versions = [ladder.analysis(WORSE, BETTER, revision).parked.parked.version for revision in range(1, 12)]
        assert len(set(versions)) == len(versions)
