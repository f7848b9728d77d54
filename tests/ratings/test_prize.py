import pytest

from tests.ratings.ladder import AT, DAY, HOUR, Ladder, awarded
from tests.rules.examples import rows
from worker.ratings.delivery import Source
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.ratings.rows import Prize

PUBLISHED = next(row for row in rows("stated") if row["inputs"].get("name") == "tournament_prizes_example")


@pytest.fixture
def ladder():
    return Ladder("gammon42")


def refused_with(outcome):
    assert outcome.kind is Kind.REFUSED
    assert (outcome.rows, outcome.changes, outcome.prize) == ((), None, None)
    [letter] = outcome.letters
    return letter.refusal


class TestAPrize:
    @pytest.mark.parametrize(("place", "amount"), list(enumerate(PUBLISHED["expected"], 1)))
    def test_adds_the_flat_amount_as_published(self, ladder, place, amount):
        ladder.match(cube=64)
        before = ladder.rating("bob")
        assert ladder.send(awarded("t-1", "bob", amount, place)).kind is Kind.AWARDED
        assert ladder.rating("bob") == before + amount

    def test_of_somebody_never_rated_starts_at_the_pools_rating(self):
        ladder = Ladder("gammon42", starting_rating=1000)
        outcome = ladder.send(awarded("t-1", "zoe", 50))
        [(player_id, row, replaces)] = outcome.rows
        assert (player_id, replaces) == ("zoe", None)
        assert (row.seq, row.rating, row.rated_games, row.newest_finished_at_ms) == (1, 1050, 0, None)
        assert row.last_source == "tournament-prize-awarded/0/0"

    def test_is_no_game(self, ladder):
        ladder.match()
        before = ladder.state.rows["ann"]
        outcome = ladder.send(awarded("t-1", at=AT + DAY))
        after = ladder.state.rows["ann"]
        assert (after.seq, after.rated_games, after.newest_finished_at_ms) == (2, 1, before.newest_finished_at_ms)
        assert outcome.windows == ()
        assert outcome.record is None
        ladder.match("m-2", at=AT + HOUR)
        assert [event["details"].get("games_in_window") for event in ladder.values()] == [0, 0, None, 1, 1]
        assert not any(event["late"] for event in ladder.values())

    def test_shows_only_whom_a_rated_match_has_shown(self, ladder):
        assert ladder.send(awarded("t-1")).on_leaderboard == frozenset()
        ladder.match(mode="boosted")
        assert ladder.send(awarded("t-2")).on_leaderboard == frozenset()
        ladder.match("m-2")
        assert ladder.send(awarded("t-3")).on_leaderboard == {"ann"}

    def test_is_remembered_with_what_it_was_added_to(self, ladder):
        ladder.match()
        ladder.send(awarded("t-1", "bob", 15, 3, at=AT + 7))
        before = ladder.rating("bob") - 15
        source = Source("tournament-prize-awarded", 0, 1)
        assert ladder.state.prizes == {("t-1", "bob"): Prize("t-1", "bob", 3, 15, AT + 7, source, before)}

    def test_counts_in_the_match_that_comes_next(self, ladder):
        ladder.send(awarded("t-1", "ann", 100_000))
        ladder.match()
        [won, lost] = ladder.values()[1:]
        assert (won["before"], won["change"], lost["details"]["opponent_rating"]) == (101_500, 0, 101_500)

    def test_of_another_tournament_or_player_is_another_prize(self, ladder):
        for tournament_id, player_id in (("t-1", "ann"), ("t-2", "ann"), ("t-1", "bob"), ("t", "1-bob")):
            assert ladder.send(awarded(tournament_id, player_id, 25)).kind is Kind.AWARDED
        assert ladder.ratings() == {"ann": 1550, "bob": 1525, "1-bob": 1525}


class TestAPrizeThatIsKnown:
    def test_is_a_duplicate_whenever_it_was_awarded(self, ladder):
        ladder.send(awarded("t-1"))
        again = ladder.send(awarded("t-1", at=AT + DAY), AT + 2 * DAY)
        assert again.kind is Kind.DUPLICATE
        assert (again.rows, again.changes, again.letters, again.prize) == ((), None, (), None)
        assert ladder.ratings() == {"ann": 1525}

    @pytest.mark.parametrize(
        ("place", "amount", "said"),
        [
            (2, 25, "/place is 2, but this tournament has paid this player with 1 there"),
            (1, 50, "/amount is 50, but this tournament has paid this player with 25 there"),
            (2, 50, "/place is 2"),
        ],
    )
    def test_with_another_place_or_amount_is_a_conflict(self, ladder, place, amount, said):
        ladder.send(awarded("t-1"))
        refusal = refused_with(ladder.send(awarded("t-1", "ann", amount, place)))
        assert refusal.reason is Reason.CONFLICT
        assert refusal.message.startswith(said)
        assert ladder.ratings() == {"ann": 1525}
        assert len(ladder.values()) == 1

    def test_stands_as_it_was_paid_after_a_conflict(self, ladder):
        ladder.send(awarded("t-1"))
        ladder.send(awarded("t-1", "ann", 50))
        assert ladder.send(awarded("t-1")).kind is Kind.DUPLICATE


class TestTheHorizon:
    def test_refuses_what_was_awarded_before_it_even_if_it_is_known(self, ladder):
        ladder.send(awarded("t-1"))
        ladder.state.horizon_ms = AT + 1
        for tournament_id in ("t-1", "t-2"):
            refusal = refused_with(ladder.send(awarded(tournament_id)))
            assert refusal.reason is Reason.TOO_LATE
            assert "/awarded_at" in refusal.message

    def test_lets_what_was_awarded_on_it_pass(self):
        assert Ladder("gammon42", horizon_ms=AT).send(awarded("t-1")).kind is Kind.AWARDED
