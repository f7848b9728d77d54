import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import IN_1_3_1, kinds, match
from worker.rules import gammon42
from worker.rules.errors import SettingError
from worker.rules.gammon42 import FormulaStart, Gammon42
from worker.rules.ruleset import Standing, UnpublishedFormulaError

FROM_1_0_5, FROM_1_2_0, FROM_1_3_1 = (start.from_ms for start in Gammon42().versions)

ratings = st.integers(-5_000, 10_000)
counts = st.integers(0, 200)
cubes = st.sampled_from([1, 2, 4, 8, 16, 32, 64])
instants = st.integers(FROM_1_0_5, FROM_1_3_1 + 10**10)


@given(ratings, ratings, counts, counts, cubes, instants)
def test_with_equal_k_one_gains_what_the_other_loses(
    winner: int, loser: int, won: int, lost: int, cube: int, at: int
) -> None:
    rated = Gammon42().rate(
        match("gammon42", cube=cube, finished_at_ms=at),
        Standing(winner, games_in_window=won),
        Standing(loser, games_in_window=lost),
    )
    assert rated.winner.after >= winner
    assert rated.loser.after <= loser
    if rated.winner.terms["k"] == rated.loser.terms["k"]:
        assert rated.winner.after + rated.loser.after == winner + loser


@given(st.integers(-6_000, 6_000), st.integers(1, 500), cubes, instants)
def test_the_favourite_gains_less_the_wider_the_gap(gap: int, wider: int, cube: int, at: int) -> None:
    game = match("gammon42", cube=cube, finished_at_ms=at)
    near = Gammon42().rate(game, Standing(1500 + gap), Standing(1500))
    far = Gammon42().rate(game, Standing(1500 + gap + wider), Standing(1500))
    assert far.winner.after - (1500 + gap + wider) <= near.winner.after - (1500 + gap)


def test_an_overflowing_gap_is_an_expectation_of_zero() -> None:
    rated = Gammon42().rate(match("gammon42"), Standing(-500_000), Standing(500_000))
    assert rated.winner.terms["expected"] == 0.0
    assert rated.loser.terms["expected"] == 1.0
    assert (rated.winner.after, rated.loser.after) == (-499_968, 499_968)


def test_each_side_shows_its_own_terms() -> None:
    rated = Gammon42().rate(
        match("gammon42", cube=4), Standing(1500, games_in_window=50), Standing(1600, games_in_window=49)
    )
    expected = gammon42.expectation(1500, 1600, 1200)
    shared = {"divisor": 1200, "cube": 4, "coefficient": 1 + math.log2(4) / 6, "formula_version": "1.3.1"}
    assert rated.winner.terms == {**shared, "expected": expected, "k": 16, "games_in_window": 50}
    assert rated.loser.terms == {**shared, "expected": 1 - expected, "k": 32, "games_in_window": 49}
    assert rated.raw_change is None


@pytest.mark.parametrize(
    ("at", "version", "divisor"),
    [
        (FROM_1_0_5, "1.0.5", 400),
        (FROM_1_2_0 - 1, "1.0.5", 400),
        (FROM_1_2_0, "1.2.0", 800),
        (FROM_1_3_1 - 1, "1.2.0", 800),
        (FROM_1_3_1, "1.3.1", 1200),
    ],
)
def test_the_date_chooses_the_formula(at: int, version: str, divisor: float) -> None:
    rated = Gammon42().rate(
        match("gammon42", finished_at_ms=at), Standing(1500, games_in_window=60), Standing(1500, games_in_window=60)
    )
    assert (rated.winner.terms["formula_version"], rated.winner.terms["divisor"]) == (version, divisor)
    assert rated.winner.terms["games_in_window"] == 60
    assert rated.winner.terms["k"] == (16 if version == "1.3.1" else 32)


@pytest.mark.parametrize(
    ("explicit", "applies"),
    [
        ("1.0.5", "1.0.5"),
        ("1.1.9999", "1.0.5"),
        ("1.2.0", "1.2.0"),
        ("1.3.0", "1.2.0"),
        ("01.03.0001", "1.3.1"),
        ("1.10.0", "1.3.1"),
        ("2.0.0", "1.3.1"),
    ],
)
def test_an_explicit_version_is_the_newest_of_the_table_that_is_not_after_it(explicit: str, applies: str) -> None:
    game = match("gammon42", formula_version=explicit, finished_at_ms=0)
    Gammon42().check(game)
    assert Gammon42().formula(game).version == applies


def test_a_date_before_the_table_is_unpublished() -> None:
    with pytest.raises(UnpublishedFormulaError, match=r"^/finished_at: .*2025-01-01T00:00:00\.000Z.*1\.0\.5"):
        Gammon42().check(match("gammon42", finished_at_ms=FROM_1_0_5 - 1))


def test_an_explicit_version_before_1_0_5_is_unpublished() -> None:
    with pytest.raises(UnpublishedFormulaError, match=r"^/formula_version: 1\.0\.4 is before 1\.0\.5"):
        Gammon42().check(match("gammon42", formula_version="1.0.4"))


def test_an_explicit_version_before_the_table_is_unpublished() -> None:
    late = Gammon42(versions=(FormulaStart("1.2.0", 0),))
    with pytest.raises(UnpublishedFormulaError, match=r"^/formula_version: 1\.1\.0 is before 1\.2\.0"):
        late.check(match("gammon42", formula_version="1.1.0"))


def test_a_version_between_the_published_ones_follows_the_one_before_it() -> None:
    rules = Gammon42(versions=(FormulaStart("1.1.0", 0), FormulaStart("1.3.0", 10), FormulaStart("1.10.0", 20)))
    assert [rules.formula(match("gammon42", finished_at_ms=at)).divisor for at in (0, 10, 20)] == [400, 800, 1200]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"end_reason": "left"}, None),
        ({"win_type": "backgammon"}, None),
        (kinds("guest", "anonymous"), None),
        ({"same_network": True}, None),
        ({"mode": "boosted"}, "boosted"),
        ({"mode": "casual"}, "boosted"),
        ({"mode": "tournament"}, "tournament"),
        (kinds("bot"), "computer"),
        (kinds("account", "bot"), "computer"),
        ({"mode": "tournament", **kinds("bot")}, "tournament"),
    ],
)
def test_only_ranked_games_of_people_count(changed: dict[str, object], reason: str | None) -> None:
    assert Gammon42().exclusion(match("gammon42", **changed)) == reason


def test_a_mode_that_no_rule_names_is_never_rated() -> None:
    with pytest.raises(KeyError):
        Gammon42().exclusion(match("gammon42", mode="friendly"))


def test_a_rated_game_without_a_cube_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        Gammon42().rate(match("gammon42", cube=None), Standing(1500), Standing(1500))


def test_players_are_shown_from_their_first_game_and_gather_no_experience() -> None:
    assert not Gammon42().on_leaderboard(0, 0)
    assert Gammon42().on_leaderboard(1, 0)
    assert Gammon42().experience_gain(match("gammon42")) == 0
    assert Gammon42().pr_rule is None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"starting_rating": 1500.0}, "starting_rating must be a whole number"),
        ({"starting_rating": True}, "starting_rating must be a whole number"),
        ({"retention_days": 0}, "retention_days must be a whole number from 1"),
        ({"retention_days": 1.5}, "retention_days must be a whole number"),
        ({"k": 0}, "k must be a number"),
        ({"k": True}, "k must be a number"),
        ({"k": "32"}, "k must be a number"),
        ({"heavy_k": math.nan}, "heavy_k must be a number"),
        ({"heavy_games": 0}, "heavy_games must be a whole number"),
        ({"divisor_1_3_1": math.inf}, "divisor_1_3_1 must be a number"),
        ({"cube_doublings": -6}, "cube_doublings must be a number"),
        ({"versions": ()}, "versions must have at least one"),
        ({"versions": (FormulaStart("1.0.4", 0),)}, "versions[0] is 1.0.4"),
        ({"versions": (FormulaStart("1.3", 0),)}, "versions[0] must have a version of three numbers"),
        ({"versions": (FormulaStart("1.2.0", 0), FormulaStart("1.2.0", 1))}, "versions[1] must ascend"),
        ({"versions": (FormulaStart("1.10.0", 0), FormulaStart("1.2.0", 1))}, "versions[1] must ascend"),
        ({"versions": (FormulaStart("1.2.0", 5), FormulaStart("1.3.1", 5))}, "versions[1] must ascend"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match="^" + re.escape(problem)):
        Gammon42(**settings)  # type: ignore[arg-type]


def test_constants_are_settings() -> None:
    rules = Gammon42(k=40, heavy_k=20, heavy_games=2, divisor_1_3_1=500, cube_doublings=3)
    rated = rules.rate(
        match("gammon42", cube=2, finished_at_ms=IN_1_3_1),
        Standing(1500, games_in_window=2),
        Standing(1600, games_in_window=1),
    )
    expected = gammon42.expectation(1500, 1600, 500)
    assert rated.winner.after == round(1500 + 20 * (1 - expected) * (4 / 3))
    assert rated.loser.after == round(1600 - 40 * (1 - expected) * (4 / 3))
