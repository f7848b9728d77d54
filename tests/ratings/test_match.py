import pytest
from msgspec.structs import replace

from tests.ratings.ladder import AT, DAY, HOUR, SECOND, Ladder
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason

WINDOW = 168 * HOUR


def refused_with(outcome):
    assert outcome.kind is Kind.REFUSED
    assert not outcome.rows
    assert outcome.record is None
    assert outcome.changes is None
    [letter] = outcome.letters
    assert letter.refusal.message.isascii()
    return letter.refusal


class TestARatedMatch:
    def test_changes_both_players_and_records_how(self):
        ladder = Ladder("gammon42")
        outcome = ladder.match(cube=1)
        assert outcome.kind is Kind.RATED
        assert ladder.ratings() == {"ann": 1516, "bob": 1484}
        record = ladder.state.records["m-1"]
        assert (record.rated.winner.before, record.rated.winner.change) == (1500, 16)
        assert (record.rated.loser.before, record.rated.loser.change) == (1500, -16)
        assert record.rated.raw_change is None

    def test_is_rated_with_the_ratings_as_they_stand(self):
        ladder = Ladder("season0")
        ladder.match("m-1")
        second = ladder.match("m-2", "bob", "ann")
        assert [change.before for change in second.changes.sides] == [1192, 1208]
        assert [change.seq for change in second.changes.sides] == [2, 2]
        assert second.changes.sides[0].details["opponent_rating"] == 1208

    def test_counts_games_by_arrival(self):
        ladder = Ladder("nardeon")
        ladder.match("m-2", at=AT + DAY, length=7)
        outcome = ladder.match("m-1", at=AT, length=3)
        assert [change.rated_games for change in outcome.changes.sides] == [2, 2]
        assert [change.experience for change in outcome.changes.sides] == [10, 10]
        assert outcome.changes.sides[0].details["experience"] == 7

    def test_has_no_experience_outside_nardeon(self):
        outcome = Ladder("season0").match()
        assert [change.experience for change in outcome.changes.sides] == [None, None]

    def test_shows_players_on_the_leaderboard_from_their_first_game(self):
        assert Ladder("season0").match().on_leaderboard == {"ann", "bob"}

    def test_shows_nardeon_players_from_10_points_of_experience(self):
        ladder = Ladder("nardeon")
        assert ladder.match("m-1", "ann", "bob", length=9).on_leaderboard == frozenset()
        assert ladder.match("m-2", "ann", "cem", length=1).on_leaderboard == {"ann"}

    def test_is_final_where_the_ruleset_has_no_pr_rule(self):
        outcome = Ladder("gammon42").match(prs=(9.0, 1.0))
        assert outcome.changes.settles_by_ms is None
        assert "revision" not in outcome.changes.sides[0].details

    def test_with_a_change_of_zero_is_still_a_rated_match(self):
        ladder = Ladder("gammon42")
        ladder.state.rows["ann"] = replace(Ladder("gammon42").match().rows[0][1], rating=5000)
        outcome = ladder.match()
        winner = outcome.changes.sides[0]
        assert (winner.before, winner.after, winner.rated_games) == (5000, 5000, 2)
        assert len(outcome.windows) == 2


class TestLate:
    def test_is_a_match_older_than_one_applied_to_that_player_and_only_for_that_player(self):
        ladder = Ladder("season0")
        ladder.match("m-2", "ann", "bob", at=AT)
        outcome = ladder.match("m-1", "ann", "cem", at=AT - 1)
        assert [(change.player_id, change.late) for change in outcome.changes.sides] == [("ann", True), ("cem", False)]

    def test_is_not_a_match_of_the_same_instant(self):
        ladder = Ladder("season0")
        ladder.match("m-2", at=AT)
        assert [change.late for change in ladder.match("m-1", at=AT).changes.sides] == [False, False]

    def test_goes_by_the_newest_match_and_not_by_the_last_one(self):
        ladder = Ladder("season0")
        ladder.match("m-3", at=AT)
        ladder.match("m-1", at=AT - 2 * SECOND)
        assert ladder.match("m-2", at=AT - SECOND).changes.sides[0].late
        assert not ladder.match("m-4", at=AT).changes.sides[0].late


class TestTheWindow:
    def test_counts_games_of_the_same_batch_up_to_the_match_itself(self):
        ladder = Ladder("gammon42")
        for number in range(3):
            ladder.match(f"m-{number}", at=AT + number)
        assert _games(ladder.match("m-9", at=AT + 9)) == (3, 3)

    def test_begins_168_hours_before_the_match_inclusive(self):
        ladder = Ladder("gammon42")
        ladder.match("m-1", "ann", "cem", at=AT - WINDOW - 1)
        ladder.match("m-2", "ann", "cem", at=AT - WINDOW)
        assert _games(ladder.match("m-3", at=AT)) == (1, 0)

    def test_orders_equal_instants_by_the_bytes_of_the_match_id(self):
        ladder = Ladder("gammon42")
        for match_id in ("\uffff", "\U0001f3b2", "z", "a"):
            ladder.match(match_id, "ann", "cem", at=AT)
        assert _games(ladder.match("\uffffb", "ann", "bob", at=AT)) == (3, 0)

    def test_counts_a_late_match_in_its_place(self):
        ladder = Ladder("gammon42")
        ladder.match("m-1", at=AT)
        ladder.match("m-3", at=AT + 2)
        assert _games(ladder.match("m-2", at=AT + 1)) == (1, 1)
        assert _games(ladder.match("m-4", at=AT + 3)) == (3, 3)

    def test_lowers_k_with_the_51st_game(self):
        ladder = Ladder("gammon42")
        for number in range(50):
            k = ladder.match(f"m-{number}", "ann", f"p-{number}", at=AT + number).changes.sides[0].details["k"]
            assert k == 32
        last = ladder.match("m-50", "ann", "new", at=AT + 50).changes.sides
        assert [side.details["k"] for side in last] == [16, 32]

    def test_has_no_excluded_games(self):
        ladder = Ladder("gammon42")
        ladder.match("m-1", mode="boosted")
        assert _games(ladder.match("m-2", at=AT + 1)) == (0, 0)


def _games(outcome):
    winner, loser = outcome.changes.sides
    return winner.details["games_in_window"], loser.details["games_in_window"]


class TestAnExcludedMatch:
    @pytest.mark.parametrize(
        ("ruleset", "changed", "reason"),
        [
            ("gammon42", {"mode": "casual"}, "boosted"),
            ("gammon42", {"mode": "tournament"}, "tournament"),
            ("gammon42", {"kinds": ("account", "bot")}, "computer"),
            ("blitzgammon", {"mode": "hosted"}, "elo-disabled"),
            ("nardeon", {"kinds": ("guest", "account")}, "guest"),
            ("season0", {"same_network": True}, "same-network"),
        ],
    )
    def test_is_recorded_with_its_reason_and_changes_nothing(self, ruleset, changed, reason):
        ladder = Ladder(ruleset)
        outcome = ladder.match(**changed)
        assert (outcome.kind, outcome.excluded_reason) == (Kind.EXCLUDED, reason)
        assert not outcome.rows
        assert not outcome.windows
        assert outcome.changes is None
        assert ladder.state.records["m-1"].excluded_reason == reason
        assert ladder.ratings() == {}

    def test_is_answered_once(self):
        ladder = Ladder("gammon42")
        ladder.match(mode="boosted")
        assert ladder.match(mode="boosted").kind is Kind.DUPLICATE
        assert len(ladder.values("match-excluded")) == 1

    def test_cannot_come_again_as_a_rated_one(self):
        ladder = Ladder("gammon42")
        ladder.match(mode="boosted")
        assert refused_with(ladder.match(mode="ranked")).reason is Reason.CONFLICT


class TestAMatchIdThatIsKnown:
    def test_with_the_same_content_is_a_duplicate(self):
        ladder = Ladder("gammon42")
        ladder.match()
        before = ladder.ratings()
        again = ladder.match(timestamp=AT + DAY)
        assert again.kind is Kind.DUPLICATE
        assert (again.rows, again.record, again.changes, again.letters) == ((), None, None, ())
        assert ladder.ratings() == before

    def test_with_prs_that_were_missing_is_a_duplicate_and_brings_nothing(self):
        ladder = Ladder()
        ladder.match()
        assert ladder.match(prs=(9.0, 1.0)).kind is Kind.DUPLICATE
        assert ladder.state.records["m-1"].rated.revision is None

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"winner": "cem"}, "/winner"),
            ({"loser": "cem"}, "/loser"),
            ({"winner": "bob", "loser": "ann"}, "/winner"),
            ({"kinds": ("account", "anonymous")}, "/loser"),
            ({"at": AT + 1}, "/finished_at"),
            ({"mode": "boosted"}, "/mode"),
            ({"cube": 2}, "/cube"),
            ({"length": 7}, "/length"),
            ({"elo_enabled": True}, "/elo_enabled"),
            ({"same_network": True}, "/same_network"),
            ({"end_reason": "left"}, "/end_reason"),
            ({"win_type": "gammon"}, "/win_type"),
            ({"formula_version": "1.3.1"}, "/formula_version"),
        ],
    )
    def test_with_other_content_is_a_conflict_that_names_the_field(self, changed, field):
        ladder = Ladder("gammon42")
        ladder.match()
        before = ladder.ratings()
        refusal = refused_with(ladder.match(**changed))
        assert refusal.reason is Reason.CONFLICT
        assert f" {field}:" in refusal.message
        assert ladder.ratings() == before


class TestTheHorizon:
    def test_refuses_what_ended_before_it(self):
        outcome = Ladder("season0", horizon_ms=AT).match(at=AT - 1)
        refusal = refused_with(outcome)
        assert refusal.reason is Reason.TOO_LATE
        assert "/finished_at" in refusal.message

    def test_lets_what_ended_on_it_pass(self):
        assert Ladder("season0", horizon_ms=AT).match(at=AT).kind is Kind.RATED

    def test_comes_before_the_question_whether_a_match_is_known(self):
        ladder = Ladder("season0")
        ladder.match()
        ladder.state.horizon_ms = AT + 1
        assert refused_with(ladder.match()).reason is Reason.TOO_LATE
        assert refused_with(ladder.match(winner="cem")).reason is Reason.TOO_LATE
