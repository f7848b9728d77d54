import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import kinds, match
from worker.rules import nardeon
from worker.rules.errors import SettingError
from worker.rules.nardeon import Nardeon
from worker.rules.ruleset import Rated, Standing

RULES = Nardeon()

ratings = st.floats(-3_000, 6_000)
experiences = st.integers(0, 2_000)
lengths = st.integers(1, 99)


def rate(winner: float, loser: float, length: int, experience: tuple[int, int]) -> Rated:
    return RULES.rate(
        match("nardeon", length=length),
        Standing(winner, experience=experience[0]),
        Standing(loser, experience=experience[1]),
    )


@given(ratings, ratings, lengths, experiences)
def test_with_equal_experience_one_gains_what_the_other_loses(
    winner: float, loser: float, length: int, experience: int
) -> None:
    change = RULES.change(length, nardeon.expectation(winner, loser, length), RULES.multiplier(experience))
    rated = rate(winner, loser, length, (experience, experience))
    assert rated.winner.after == winner + change
    assert rated.loser.after == loser - change


@given(st.floats(-3_000, 3_000), st.floats(0.01, 500), lengths)
def test_the_favourite_never_gains_more_where_the_gap_is_wider(gap: float, wider: float, length: int) -> None:
    near, far = (RULES.change(length, nardeon.expectation(g, 0, length), 1) for g in (gap, gap + wider))
    assert far <= near


@given(st.floats(-500, 500), st.floats(1, 500), lengths)
def test_the_favourite_gains_less_the_wider_the_gap(gap: float, wider: float, length: int) -> None:
    near, far = (RULES.change(length, nardeon.expectation(g, 0, length), 1) for g in (gap, gap + wider))
    assert far < near


@given(ratings, ratings, lengths, experiences, experiences)
def test_before_and_the_difference_are_after_to_the_last_bit(
    winner: float, loser: float, length: int, won: int, lost: int
) -> None:
    rated = rate(winner, loser, length, (won, lost))
    for before, side in ((winner, rated.winner), (loser, rated.loser)):
        assert before + (side.after - before) == side.after


@given(ratings, ratings, lengths, experiences, experiences)
def test_a_rating_written_as_text_reads_back_to_the_same_double(
    winner: float, loser: float, length: int, won: int, lost: int
) -> None:
    rated = rate(winner, loser, length, (won, lost))
    for side in (rated.winner, rated.loser):
        assert isinstance(side.after, float)
        assert float(repr(side.after)).hex() == side.after.hex()


def test_an_overflowing_gap_is_an_expectation_of_zero() -> None:
    rated = rate(-900_000.0, 900_000.0, 99, (400, 400))
    assert rated.winner.terms["expected"] == 0.0
    assert rated.winner.after == -900_000 + 4 * math.sqrt(99)


def test_each_side_shows_its_own_terms() -> None:
    rated = rate(1600, 1500, 3, (150, 250))
    expected = nardeon.expectation(1600, 1500, 3)
    assert rated.winner.terms == {"expected": expected, "length": 3, "experience": 150, "multiplier": 3.5}
    assert rated.loser.terms == {"expected": 1 - expected, "length": 3, "experience": 250, "multiplier": 2.5}
    assert rated.raw_change is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"mode": "private"}, "private-room"),
        ({"mode": "club"}, "club-table"),
        ({"mode": "local"}, "one-screen"),
        ({"mode": "computer"}, "computer"),
        (kinds("bot"), "computer"),
        (kinds("account", "bot"), "computer"),
        (kinds("guest"), "guest"),
        (kinds("account", "anonymous"), "guest"),
        ({"same_network": True}, "same-address"),
        ({"mode": "club", **kinds("bot", "guest"), "same_network": True}, "club-table"),
        ({**kinds("guest", "bot"), "same_network": True}, "computer"),
        ({**kinds("guest"), "same_network": True}, "guest"),
    ],
)
def test_only_public_matches_between_two_accounts_count(changed: dict[str, object], reason: str | None) -> None:
    assert RULES.exclusion(match("nardeon", **changed)) == reason


def test_a_mode_that_no_rule_names_is_never_rated() -> None:
    with pytest.raises(KeyError):
        RULES.exclusion(match("nardeon", mode="friendly"))


def test_a_rated_match_without_a_length_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="has no length"):
        RULES.rate(match("nardeon", length=None), Standing(1500.0), Standing(1500.0))


def test_players_are_shown_from_ten_points_of_experience() -> None:
    assert not RULES.on_leaderboard(9, 9)
    assert RULES.on_leaderboard(1, 10)
    assert not Nardeon(leaderboard_experience=0).on_leaderboard(0, 0)
    assert RULES.pr_rule is None
    RULES.check(match("nardeon"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"starting_rating": "1500"}, "starting_rating must be a number"),
        ({"starting_rating": math.nan}, "starting_rating must be a number"),
        ({"retention_days": True}, "retention_days must be a whole number"),
        ({"divisor": 0}, "divisor must be a number"),
        ({"k": -4}, "k must be a number"),
        ({"boost_max": 0}, "boost_max must be a number"),
        ({"boost_min": 6}, "boost_min must not be above boost_max"),
        ({"boost_step_experience": 0}, "boost_step_experience must be a number"),
        ({"leaderboard_experience": 9.5}, "leaderboard_experience must be a whole number"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match="^" + re.escape(problem)):
        Nardeon(**settings)  # type: ignore[arg-type]


def test_constants_are_settings() -> None:
    rules = Nardeon(starting_rating=1000, divisor=1000, k=8, boost_max=3, boost_min=2, boost_step_experience=10)
    assert repr(rules.starting_rating) == "1000.0"
    rated = rules.rate(match("nardeon", length=4), Standing(1000.0, experience=5), Standing(1100.0, experience=50))
    gain = 8 * 2 * (1 - nardeon.expectation(1000, 1100, 4, 1000))
    assert rated.winner.after == pytest.approx(1000 + 2.5 * gain)
    assert rated.loser.after == pytest.approx(1100 - 2 * gain)
