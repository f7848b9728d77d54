"""What players are told about prizes and links, and about matches of ids that are linked."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.asking import ask, says
from tests.cli.standing import Standing, told
from tests.ratings.ladder import AT, SECOND, Ladder, awarded, finished, linked
from worker.cli.explain.link import claimed
from worker.cli.explain.match import as_json, as_text, explain
from worker.cli.explain.prize import paid
from worker.cli.explain.told import Told
from worker.ratings.events import Event
from worker.rules.match import MatchFinished

NOTHING = "Nothing changes, and nothing is owed a second answer."
NO_GAME = (
    "A prize is a flat amount, paid once for each tournament and player. It is not a game: it is in no window and in "
    "no count of games, so no K goes by it."
)
LATER = (
    "Matches of device-7 that come after the link count for ann, also late ones, and a new match between the two is "
    "refused as one against oneself (self-match)."
)


def game(match_id: str, winner: str, loser: str, number: int = 1) -> MatchFinished:
    return finished("season0", match_id, winner, loser, at=AT + number * SECOND)


class TestAPrize:
    def test_is_told_with_its_sum_and_its_rule(self, standing: Standing) -> None:
        standing.rate(finished("gammon42", "m-1", "ann", "bob"), awarded("t-1", "ann", 1250, place=2))
        text = told(standing.run("explain", "gammon42", "t-1", "--prize", "ann"))
        assert text.splitlines() == [
            "ann came in place 2 of the tournament t-1 in gammon42 and was paid 1,250 points, awarded at "
            "2026-11-01 12:00:00 UTC: 1516 + 1250 = 2766.",
            NO_GAME,
            "It was applied at position 2 of the pool (it came as tournament-prize-awarded/0/0). The same place and "
            "amount again changes nothing; another place or amount is refused as a conflict.",
        ]
        found = json.loads(told(standing.run("explain", "gammon42", "t-1", "--prize", "ann", "--json")))
        assert (found["before"], found["change"], found["after"], found["position"]) == (1516, 1250, 2766, 2)
        assert found["says"] == text.splitlines()

    def test_that_is_not_known_says_what_was_looked_for(self, standing: Standing) -> None:
        result = standing.run("explain", "gammon42", "t-1", "--prize", "ann")
        assert result.exit_code == 1
        assert result.stderr == (
            "A prize of the tournament t-1 for ann is not known in gammon42: it is not among the prizes that were "
            "paid, all of which are remembered. It may not have arrived yet, or it may have been refused (then it is "
            "in the topic tournament-prize-awarded.dlt, with the reason in its header dlt-reason).\n"
        )

    def test_does_not_exist_in_other_pools(self, standing: Standing) -> None:
        result = standing.run("explain", "season0", "t-1", "--prize", "ann")
        assert (result.exit_code, result.stderr) == (1, "There are no prizes in season0, a season0 pool.\n")

    def test_that_is_new_would_be_paid(self) -> None:
        assert says(ask("gammon42", [], awarded("t-1"), identifier="t-1")) == [
            "The prize of t-1 for ann is not known in gammon42 yet. It would be paid: 25 points for place 1, on the "
            "rating that ann has when a worker applies it.",
            NO_GAME,
        ]

    def test_again_is_a_duplicate(self) -> None:
        assert says(ask("gammon42", [awarded("t-1")], awarded("t-1"), identifier="t-1")) == [
            "The prize of t-1 for ann is paid already, for the same place and amount: this is a duplicate. What came "
            "as tournament-prize-awarded/0/0 and was paid at position 1 stands.",
            NOTHING,
        ]

    @pytest.mark.parametrize(
        ("other", "differs"),
        [
            (awarded("t-1", amount=30), "/amount: 30 here, 25 in what is known"),
            (awarded("t-1", amount=30, place=3), "/place: 3 here, 1 in what is known"),
        ],
    )
    def test_of_another_amount_or_place_is_a_conflict(self, other: Event, differs: str) -> None:
        first, second = says(ask("gammon42", [awarded("t-1")], other, identifier="t-1"))
        assert first.startswith("The prize of t-1 for ann is known in gammon42 with other content, so this one is a")
        assert "becomes a dead letter in tournament-prize-awarded.dlt (reason conflict)" in first
        assert second == f"The first field that differs is {differs}. A prize is paid once."

    @given(amounts=st.lists(st.integers(1, 100_000), min_size=1, max_size=4), played=st.booleans())
    def test_tells_the_numbers_that_were_published(self, amounts: list[int], played: bool) -> None:
        ladder = Ladder("gammon42")
        if played:
            ladder.match()
        for number, amount in enumerate(amounts):
            ladder.send(awarded(f"t-{number}", "ann", amount))
        published = [value for value in ladder.values() if value["cause"]["type"] == "tournament-prize-awarded"]
        for value in published:
            facts = paid(ladder.pool, ladder.state.prizes[value["cause"]["tournament_id"], "ann"]).facts
            assert [facts[name] for name in ("before", "change", "after", "place")] == [
                *(value[name] for name in ("before", "change", "after")),
                value["cause"]["place"],
            ]


class TestALink:
    @pytest.mark.parametrize("either", ["device-7", "ann"])
    def test_that_took_over_is_told_by_either_id(self, standing: Standing, either: str) -> None:
        standing.rate(game("m-1", "device-7", "bob"), game("m-2", "device-7", "cem", 2), linked("device-7", "ann"))
        standing.rate(game("m-3", "bob", "device-7", 3))
        text = told(standing.run("explain", "season0", either, "--link"))
        assert text.splitlines() == [
            "device-7 is linked to the account ann in season0, since 2026-11-01 12:00:00 UTC (position 3 of the pool; "
            "it came as identity-linked/0/0).",
            "ann had no rated game by then, so it took over what device-7 had: a rating of 1216 after 2 rated games.",
            f"device-7 is retired: it is off the leaderboard, and its own rating does not change any more. {LATER}",
            "An id is linked once, and to one other id only.",
            "ann stands at 1207 after 3 rated games now.",
        ]
        found = json.loads(told(standing.run("explain", "season0", either, "--link", "--json")))
        assert (found["took_over"], found["anonymous_rating"], found["anonymous_rated_games"]) == (True, 1216, 2)
        assert (found["account_rating"], found["account_rated_games"]) == (1207, 3)

    def test_that_left_the_account_its_own_history_says_so(self, standing: Standing) -> None:
        standing.rate(game("m-1", "device-7", "bob"), game("m-2", "cem", "ann", 2), linked("device-7", "ann"))
        lines = told(standing.run("explain", "season0", "ann", "--link")).splitlines()
        assert lines[1] == (
            "ann had rated games of its own by then, so it kept its own rating and games. What device-7 had, a rating "
            "of 1208 after 1 rated game, was not added to them: two histories are never added together."
        )
        assert lines[-1] == "ann stands at 1192 after 1 rated game now."

    def test_that_is_not_known_says_what_was_looked_for(self, standing: Standing) -> None:
        result = standing.run("explain", "season0", "device-7", "--link")
        assert result.exit_code == 1
        assert result.stderr.startswith(
            "A link of device-7 is not known in season0: no link names it, as the anonymous"
        )
        assert "identity-linked.dlt" in result.stderr

    def test_does_not_exist_in_other_pools(self, standing: Standing) -> None:
        result = standing.run("explain", "gammon42", "device-7", "--link")
        assert (result.exit_code, result.stderr) == (1, "There are no links in gammon42, a gammon42 pool.\n")

    def test_that_is_new_says_what_would_become_of_both(self) -> None:
        new = ask("season0", [], linked("device-7", "ann"), identifier="ann")
        assert says(new) == [
            "Neither device-7 nor ann is linked in season0 yet: they would be. ann has no rated game as things stand, "
            "so it would take over the rating and games of device-7, and device-7 would retire.",
            LATER,
        ]
        assert isinstance(new, Told)
        assert (new.facts["outcome"], new.facts["known_source"]) == ("linked", None)
        first, _ = says(ask("season0", [game("m-1", "ann", "bob")], linked("device-7", "ann"), identifier="device-7"))
        assert "ann has rated games of its own, so it would keep its own rating and games, and device-7" in first

    def test_again_is_a_duplicate(self) -> None:
        known = [linked("device-7", "ann")]
        assert says(ask("season0", known, known[0], identifier="ann")) == [
            "device-7 is linked to ann already: this is a duplicate. What came as identity-linked/0/0 and was linked "
            "at position 1 stands.",
            NOTHING,
        ]

    def test_of_an_id_that_is_linked_is_refused_with_the_link_that_stands(self) -> None:
        answer = ask("season0", [linked("device-7", "ann")], linked("device-7", "bob"), identifier="bob")
        first, stands = says(answer)
        assert "becomes a dead letter in identity-linked.dlt (reason already-linked), and nothing changes." in first
        assert stands == (
            "device-7 is linked to ann. What came as identity-linked/0/0 and was linked at position 1 stands."
        )
        assert isinstance(answer, Told)
        assert answer.facts["known_source"] == "identity-linked/0/0"

    def test_of_an_id_to_itself_is_refused(self) -> None:
        [sentence] = says(ask("season0", [], linked("ann", "ann"), identifier="ann", published_at=None))
        assert "(reason self-match)" in sentence


class TestAMatchOfALinkedId:
    KNOWN = (game("m-0", "device-7", "bob"), linked("device-7", "ann"))

    def test_says_who_it_counts_for(self, standing: Standing) -> None:
        standing.rate(*self.KNOWN, game("m-1", "device-7", "cem", 2))
        lines = told(standing.run("explain", "season0", "m-1")).splitlines()
        assert lines[0].startswith("device-7 beat cem in season0 on ")
        assert "ann    1208      +8   1216" in lines
        assert "It was sent for device-7, which is linked to ann: it counts for ann." in lines
        found = json.loads(told(standing.run("explain", "season0", "m-1", "--json")))
        assert (found["winner_id"], found["players"][0]["player_id"]) == ("device-7", "ann")

    def test_would_count_for_the_account(self) -> None:
        new = ask("season0", self.KNOWN, game("m-1", "device-7", "cem", 2))
        assert "It was sent for device-7, which is linked to ann: it counts for ann." in says(new)

    def test_against_its_account_is_refused_as_one_against_oneself(self) -> None:
        first, stands, *_ = says(ask("season0", self.KNOWN, game("m-1", "device-7", "ann", 2)))
        assert "becomes a dead letter in match-finished.dlt (reason self-match)" in first
        assert stands.startswith("device-7 is linked to ann. What came as identity-linked/0/1 and was linked")

    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["device-7", "ann"]), st.sampled_from(["bob", "cem"]), st.booleans()), max_size=8
        ),
        link_at=st.integers(0, 8),
    )
    def test_is_explained_with_the_numbers_that_were_published(self, steps: list[Any], link_at: int) -> None:
        ladder = Ladder("season0")
        for number, (own, other, wins) in enumerate([*steps, ("device-7", "bob", True)]):
            if number == min(link_at, len(steps)):
                ladder.send(linked("device-7", "ann"))
            winner, loser = (own, other) if wins else (other, own)
            ladder.match(f"m-{number}", winner, loser, at=AT + number * SECOND)
        for value in ladder.values():
            cause = value["cause"]
            if cause["type"] == "match-finished":
                explanation = explain(ladder.pool, ladder.state.records[cause["match_id"]], AT)
                players = {player["player_id"]: player for player in as_json(explanation)["players"]}
                told_of = players[value["player_id"]]
                assert [told_of[name] for name in ("before", "change", "after", "late")] == [
                    value[name] for name in ("before", "change", "after", "late")
                ]
                assert value["player_id"] in as_text(explanation)
            elif value["player_id"] == "ann":
                link = claimed(ladder.pool, ladder.state.links["ann"], ladder.state.rows).facts
                assert (link["anonymous_rating"] == value["after"] and link["took_over"]) or value["change"] == 0


def test_only_one_thing_is_asked_for_at_a_time(standing: Standing) -> None:
    result = standing.run("explain", "gammon42", "t-1", "--prize", "ann", "--link")
    assert result.exit_code == 2
    assert "give one of them, not several" in result.stderr
