import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import kinds, match
from worker.rules import season0
from worker.rules.errors import SettingError
from worker.rules.ruleset import Standing
from worker.rules.season0 import KTier, Season0

ratings = st.integers(-5_000, 10_000)


@given(ratings, ratings, st.integers(1, 100))
def test_with_equal_k_one_gains_what_the_other_loses(winner: int, loser: int, k: int) -> None:
    rated = Season0(k_tiers=(KTier(0, k),)).rate(match("season0"), Standing(winner), Standing(loser))
    assert rated.winner.after + rated.loser.after == winner + loser
    assert rated.winner.after >= winner


@given(st.integers(-3_000, 3_000), st.integers(1, 500))
def test_the_favourite_gains_less_the_wider_the_gap(gap: int, wider: int) -> None:
    near, far = (
        Season0().rate(match("season0"), Standing(g), Standing(0)).winner.after - g for g in (gap, gap + wider)
    )
    assert far <= near


def test_an_overflowing_gap_is_an_expectation_of_zero() -> None:
    rated = Season0().rate(match("season0"), Standing(-500_000), Standing(500_000))
    assert (rated.winner.terms["expected"], rated.loser.terms["expected"]) == (0.0, 1.0)
    assert (rated.winner.after, rated.loser.after) == (-499_984, 499_984)


def test_each_side_has_the_k_of_its_own_number_of_games() -> None:
    rules = Season0(k_tiers=(KTier(0, 40), KTier(10, 24), KTier(30, 16)))
    assert [rules.k_for(games) for games in (0, 9, 10, 29, 30, 1000)] == [40, 40, 24, 24, 16, 16]
    rated = rules.rate(match("season0"), Standing(1200, rated_games=9), Standing(1200, rated_games=30))
    assert (rated.winner.after, rated.loser.after) == (1220, 1192)


def test_a_tie_is_rounded_away_from_zero_on_both_sides() -> None:
    rated = Season0(k_tiers=(KTier(0, 15),)).rate(match("season0"), Standing(1200), Standing(1200))
    assert (rated.winner.after, rated.loser.after) == (1208, 1192)


def test_each_side_shows_its_own_terms() -> None:
    rated = Season0().rate(match("season0"), Standing(1200), Standing(1400))
    assert rated.winner.terms == {"expected": season0.expectation(1200, 1400), "k": 16, "divisor": 400}
    assert rated.loser.terms == {"expected": season0.expectation(1400, 1200), "k": 16, "divisor": 400}
    assert rated.raw_change is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        (kinds("anonymous", "guest"), None),
        ({"mode": "bot"}, "bot"),
        (kinds("bot"), "bot"),
        (kinds("account", "bot"), "bot"),
        ({"same_network": True}, "same-network"),
        ({"mode": "bot", "same_network": True}, "bot"),
        ({**kinds("bot"), "same_network": True}, "bot"),
    ],
)
def test_only_ranked_games_of_people_on_two_networks_count(changed: dict[str, object], reason: str | None) -> None:
    assert Season0().exclusion(match("season0", **changed)) == reason


def test_a_mode_that_no_rule_names_is_never_rated() -> None:
    with pytest.raises(KeyError):
        Season0().exclusion(match("season0", mode="friendly"))


def test_players_are_shown_from_their_first_game_and_gather_no_experience() -> None:
    assert not Season0().on_leaderboard(0, 0)
    assert Season0().on_leaderboard(1, 0)
    assert Season0().experience_gain(match("season0")) == 0
    assert Season0().pr_rule is None
    Season0().check(match("season0"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"starting_rating": 1200.5}, "starting_rating must be a whole number"),
        ({"retention_days": 40_000}, "retention_days must be a whole number"),
        ({"divisor": 0}, "divisor must be a number"),
        ({"k_tiers": ()}, "k_tiers must have at least one"),
        ({"k_tiers": (KTier(1, 16),)}, "k_tiers[0] must begin with from_games = 0"),
        ({"k_tiers": (KTier(0, 40), KTier(0, 16))}, "k_tiers[1] must ascend"),
        ({"k_tiers": (KTier(0, 40), KTier(5, 20), KTier(3, 16))}, "k_tiers[2] must ascend"),
        ({"k_tiers": (KTier(0, 0),)}, "k_tiers[0] must be a number"),
        ({"k_tiers": (KTier(0, math.nan),)}, "k_tiers[0] must be a number"),
        ({"k_tiers": (KTier(False, 16),)}, "k_tiers[0] must be a whole number"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match="^" + re.escape(problem)):
        Season0(**settings)  # type: ignore[arg-type]


def test_both_spellings_of_a_number_are_the_same_setting() -> None:
    assert repr(Season0(divisor=400.0, k_tiers=(KTier(0, 16.0),))) == repr(Season0())
