import pytest
from msgspec.structs import replace

from tests.ratings.ladder import AT, DAY, HOUR, Ladder, linked
from worker.ratings.delivery import Source
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.ratings.rows import Link


@pytest.fixture
def ladder():
    return Ladder("season0")


def refused_with(outcome):
    assert outcome.kind is Kind.REFUSED
    assert (outcome.rows, outcome.changes, outcome.link) == ((), None, None)
    [letter] = outcome.letters
    return letter.refusal


def standing(row):
    return row.rating, row.rated_games, row.newest_finished_at_ms


class TestAnAccountWithoutGames:
    def test_takes_the_history_over(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.match("m-2", "bob", "anon", at=AT + HOUR)
        ladder.match("m-3", "anon", "bob", at=AT - HOUR)
        history = standing(ladder.state.rows["anon"])
        assert ladder.send(linked("anon", "ann")).kind is Kind.LINKED
        row = ladder.state.rows["ann"]
        assert standing(row) == history == (ladder.rating("anon"), 3, AT + HOUR)
        assert (row.seq, row.retired) == (1, False)

    def test_takes_over_the_place_on_the_leaderboard(self, ladder):
        ladder.match("m-1", "anon", "bob")
        outcome = ladder.send(linked("anon", "ann"))
        assert outcome.on_leaderboard == {"ann"}
        assert [name for name, row, _ in outcome.rows if row.retired] == ["anon"]

    def test_is_told_from_the_start_of_the_pool_on(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.send(linked("anon", "ann"))
        [claimed, retired] = ladder.values()[-2:]
        assert (claimed["player_id"], claimed["before"], claimed["change"], claimed["after"]) == ("ann", 1200, 8, 1208)
        assert (claimed["seq"], claimed["rated_games"], claimed["late"]) == (1, 1, False)
        assert (retired["player_id"], retired["before"], retired["change"], retired["after"]) == ("anon", 1208, 0, 1208)
        assert (retired["seq"], retired["rated_games"], retired["late"]) == (2, 1, False)

    def test_of_an_anonymous_id_without_games_begins_like_everybody(self, ladder):
        outcome = ladder.send(linked("anon", "ann"))
        assert outcome.on_leaderboard == frozenset()
        assert {name: standing(row) for name, row, _ in outcome.rows} == {
            "ann": (1200, 0, None),
            "anon": (1200, 0, None),
        }
        assert ladder.match("m-1", "anon", "bob").on_leaderboard == {"ann", "bob"}
        assert ladder.state.rows["ann"].rated_games == 1

    def test_is_not_one_whose_games_were_only_excluded(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.match("m-2", "ann", "bob", mode="bot")
        ladder.send(linked("anon", "ann"))
        assert ladder.rating("ann") == 1208


class TestAnAccountWithGames:
    def test_keeps_its_own_and_the_anonymous_row_is_retired(self, ladder):
        ladder.match("m-1", "anon", "bob", at=AT + HOUR)
        ladder.match("m-2", "anon", "bob", at=AT + HOUR)
        ladder.match("m-3", "cem", "ann")
        own, other = standing(ladder.state.rows["ann"]), standing(ladder.state.rows["anon"])
        outcome = ladder.send(linked("anon", "ann"))
        assert standing(ladder.state.rows["ann"]) == own == (1192, 1, AT)
        assert standing(ladder.state.rows["anon"]) == other
        assert {name: row.retired for name, row in ladder.state.rows.items() if row.retired} == {"anon": True}
        assert outcome.on_leaderboard == {"ann"}
        assert [(event["change"], event["rated_games"]) for event in ladder.values()[-2:]] == [(0, 1), (0, 2)]

    def test_even_where_it_is_back_at_the_start(self, ladder):
        ladder.match("m-1", "ann", "bob")
        ladder.state.rows["ann"] = replace(ladder.state.rows["ann"], rating=1200)
        ladder.match("m-2", "anon", "cem")
        ladder.send(linked("anon", "ann"))
        assert standing(ladder.state.rows["ann"]) == (1200, 1, AT)


class TestALink:
    def test_is_kept_under_both_ids(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.send(linked("anon", "ann", at=AT + 5))
        link = Link("anon", "ann", AT + 5, Source("identity-linked", 0, 1), True, 1208, 1)
        assert ladder.state.links == {"anon": link, "ann": link}
        assert [ladder.state.account_of(name) for name in ("anon", "ann", "bob")] == ["ann", "ann", "bob"]

    def test_is_guarded_by_both_rows(self, ladder):
        ladder.match("m-1", "anon", "bob")
        before = ladder.state.rows["anon"]
        outcome = ladder.send(linked("anon", "ann"))
        assert {name: replaces for name, _, replaces in outcome.rows} == {"ann": None, "anon": before}
        assert set(outcome.players) == {"ann", "anon"}

    @pytest.mark.parametrize("at", [AT, AT + DAY])
    def test_again_is_a_duplicate(self, ladder, at):
        ladder.send(linked("anon", "ann"))
        again = ladder.send(linked("anon", "ann", at=at))
        assert again.kind is Kind.DUPLICATE
        assert (again.rows, again.changes, again.letters, again.link) == ((), None, (), None)

    @pytest.mark.parametrize(
        ("anonymous_id", "account_id", "pointer"),
        [
            pytest.param("anon", "eve", "/anonymous_id", id="the anonymous id, to another account"),
            pytest.param("other", "ann", "/account_id", id="the account, to another anonymous id"),
            pytest.param("ann", "eve", "/anonymous_id", id="a chain: an account that is linked claimed itself"),
            pytest.param("other", "anon", "/account_id", id="a chain: a retired id as an account"),
            pytest.param("ann", "anon", "/anonymous_id", id="the same pair the other way round"),
        ],
    )
    def test_of_an_id_that_is_linked_is_refused(self, ladder, anonymous_id, account_id, pointer):
        for number, name in enumerate(("anon", "ann", "other", "eve")):
            ladder.match(f"m-{number}", name, "bob")
        ladder.send(linked("anon", "ann"))
        before = dict(ladder.state.rows)
        refusal = refused_with(ladder.send(linked(anonymous_id, account_id)))
        assert refusal.reason is Reason.ALREADY_LINKED
        assert refusal.message.startswith(f"{pointer} is part of another link already")
        assert ladder.state.rows == before
        assert ladder.state.account_of("anon") == "ann"

    def test_of_two_other_ids_is_one_more(self, ladder):
        ladder.send(linked("anon", "ann"))
        assert ladder.send(linked("other", "eve")).kind is Kind.LINKED


class TestMatchesOfAnAnonymousIdThatIsLinked:
    def test_count_for_the_account(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.send(linked("anon", "ann"))
        retired = ladder.state.rows["anon"]
        outcome = ladder.match("m-2", "anon", "bob", at=AT + HOUR)
        assert ladder.state.rows["anon"] == retired
        assert ladder.state.rows["ann"].rated_games == 2
        assert [event["player_id"] for event in ladder.values()[-2:]] == ["ann", "bob"]
        assert outcome.on_leaderboard == {"ann", "bob"}
        assert set(outcome.players) == {"ann", "bob", "anon"}

    def test_name_the_account_as_the_opponent(self, ladder):
        ladder.send(linked("anon", "ann"))
        ladder.match("m-1", "bob", "anon")
        [won, lost] = ladder.values()[-2:]
        assert won["details"]["opponent_id"] == lost["player_id"] == "ann"

    def test_are_recorded_as_they_were_sent(self, ladder):
        ladder.send(linked("anon", "ann"))
        ladder.match("m-1", "bob", "anon")
        record = ladder.state.records["m-1"]
        assert (record.content.loser.id, record.rated.loser.player_id) == ("anon", "ann")

    def test_are_late_by_the_accounts_newest(self, ladder):
        ladder.match("m-1", "anon", "bob", at=AT + HOUR)
        ladder.send(linked("anon", "ann"))
        ladder.match("m-2", "anon", "cem")
        [won, lost] = ladder.values()[-2:]
        assert (won["player_id"], won["late"], lost["late"]) == ("ann", True, False)
        assert ladder.state.rows["ann"].newest_finished_at_ms == AT + HOUR

    def test_of_two_linked_ids_are_between_their_accounts(self, ladder):
        ladder.send(linked("anon", "ann"))
        ladder.send(linked("other", "eve"))
        ladder.match("m-1", "anon", "other")
        assert [event["player_id"] for event in ladder.values()[-2:]] == ["ann", "eve"]

    def test_rated_before_are_known_by_what_was_sent(self, ladder):
        ladder.match("m-1", "anon", "bob")
        ladder.send(linked("anon", "ann"))
        assert ladder.match("m-1", "anon", "bob").kind is Kind.DUPLICATE
        refusal = refused_with(ladder.match("m-1", "ann", "bob"))
        assert (refusal.reason, "/winner" in refusal.message) == (Reason.CONFLICT, True)


class TestAMatchBetweenTheTwo:
    @pytest.mark.parametrize("names", [("anon", "ann"), ("ann", "anon")])
    @pytest.mark.parametrize("mode", ["ranked", "bot"])
    def test_is_a_match_against_oneself(self, ladder, names, mode):
        ladder.send(linked("anon", "ann"))
        refusal = refused_with(ladder.match("m-1", *names, mode=mode))
        assert refusal.reason is Reason.SELF_MATCH
        assert ladder.state.records == {}

    def test_that_was_rated_before_stands_and_comes_as_a_duplicate(self, ladder):
        ladder.match("m-1", "anon", "ann")
        ladder.send(linked("anon", "ann"))
        assert ladder.match("m-1", "anon", "ann").kind is Kind.DUPLICATE
        assert refused_with(ladder.match("m-1", "ann", "anon")).reason is Reason.CONFLICT
        assert refused_with(ladder.match("m-2", "anon", "ann")).reason is Reason.SELF_MATCH
        assert (ladder.rating("ann"), ladder.rating("anon")) == (1192, 1208)


class TestTheHorizon:
    def test_refuses_what_was_linked_before_it_even_if_it_is_known(self, ladder):
        ladder.send(linked("anon", "ann"))
        ladder.state.horizon_ms = AT + 1
        for anonymous_id, account_id in (("anon", "ann"), ("other", "eve")):
            refusal = refused_with(ladder.send(linked(anonymous_id, account_id)))
            assert refusal.reason is Reason.TOO_LATE
            assert "/linked_at" in refusal.message

    def test_lets_what_was_linked_on_it_pass(self):
        assert Ladder("season0", horizon_ms=AT).send(linked("anon", "ann")).kind is Kind.LINKED
