import math
import re
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rules.examples import kinds, match
from worker.rules import blitzgammon
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.errors import SettingError
from worker.rules.ruleset import Rated, Standing

RULES = BlitzGammon()

ratings = st.integers(100, 4_000)
near_the_floor = st.integers(100, 140)
lengths = st.integers(1, 99)


def rate(winner: int, loser: int, length: int, *, halved: bool = False) -> Rated:
    return RULES.rate(match("blitzgammon", length=length), Standing(winner), Standing(loser), halved=halved)


@given(ratings | near_the_floor, ratings | near_the_floor, lengths, st.booleans())
@example(2165, 2165, 1, True)
@example(1416, 1416, 1, False)
def test_ratings_are_stored_as_the_exact_decimals_say(winner: int, loser: int, length: int, halved: bool) -> None:
    rated = rate(winner, loser, length, halved=halved)
    raw = rated.raw_change
    assert raw is not None
    change = Decimal(raw / 2 if halved else raw).quantize(Decimal("0.01"), ROUND_HALF_UP)
    half = Decimal("0.5")
    assert rated.winner.after == int((winner + change + half).to_integral_value(ROUND_FLOOR))
    assert rated.loser.after == max(100, int((loser - change + half).to_integral_value(ROUND_FLOOR)))


@given(ratings, ratings, lengths)
def test_both_players_exchange_one_change(winner: int, loser: int, length: int) -> None:
    rated = rate(winner, loser, length)
    gained, lost = rated.winner.after - winner, loser - rated.loser.after + rated.loser.terms["floored_by"]  # type: ignore[operator]
    assert 0 <= gained - lost <= 1
    mirrored = rate(loser, winner, length)
    assert rated.raw_change is not None
    assert mirrored.raw_change is not None
    full = length**0.75 * RULES.k(winner, loser)
    assert rated.raw_change + mirrored.raw_change == pytest.approx(full, rel=1e-12)


@given(st.integers(-1000, 1000), st.integers(1, 200), lengths)
def test_the_favourite_gains_less_the_wider_the_gap(gap: int, wider: int, length: int) -> None:
    near, far = (RULES.raw_change(length, 10, blitzgammon.expectation(2000 + g, 2000)) for g in (gap, gap + wider))
    assert far < near


def test_an_overflowing_gap_is_an_expectation_of_zero() -> None:
    assert rate(100, 900_000, 1).winner.terms["expected"] == 0.0


def test_a_binary_half_that_lies_below_is_not_rounded_up() -> None:
    assert rate(2165, 2165, 1, halved=True).loser.after == 2164


def test_each_side_shows_its_own_terms() -> None:
    rated = rate(1500, 103, 7)
    expected = blitzgammon.expectation(1500, 103)
    shared = {"k": 16.0, "divisor": 800, "length": 7, "halved": False}
    assert rated.winner.terms == {**shared, "expected": expected, "floored_by": 0}
    assert rated.loser.terms == {**shared, "expected": 1 - expected, "floored_by": 0}


def test_the_floor_protects_the_loser_only_and_says_by_how_much() -> None:
    rated = rate(103, 103, 1)
    assert (rated.winner.after, rated.loser.after) == (111, 100)
    assert (rated.winner.terms["floored_by"], rated.loser.terms["floored_by"]) == (0, 5)


everyone = st.tuples(ratings | near_the_floor, ratings | near_the_floor, lengths)


@given(everyone, st.lists(st.booleans(), max_size=6))
def test_with_nothing_in_between_the_last_analysis_alone_decides(
    played: tuple[int, int, int], verdicts: list[bool]
) -> None:
    winner, loser, length = played
    full = rate(winner, loser, length)
    assert full.raw_change is not None
    now = [int(full.winner.after), int(full.loser.after)]
    before = (winner, loser)
    standing = [now[side] - before[side] for side in (0, 1)]
    for halved in verdicts:
        settled = RULES.settle(full.raw_change, winner, loser, halved=halved)
        for side, after in enumerate((settled.winner_after, settled.loser_after)):
            exchanged = RULES.exchange(now[side], standing[side], after - before[side])
            standing[side] += exchanged.after - now[side]
            now[side] = exchanged.after
            assert exchanged.floored_by == 0
    at_once = rate(winner, loser, length, halved=bool(verdicts) and verdicts[-1])
    assert now == [at_once.winner.after, at_once.loser.after]


@given(everyone, st.integers(-200, 200))
def test_an_analysis_exchanges_only_its_own_match_above_the_floor(played: tuple[int, int, int], between: int) -> None:
    winner, loser, length = played
    full = rate(winner, loser, length)
    assert full.raw_change is not None
    halved = RULES.settle(full.raw_change, winner, loser, halved=True)
    current = max(100, int(full.winner.after) + between)
    exchanged = RULES.exchange(current, int(full.winner.after) - winner, halved.winner_after - winner)
    assert exchanged.after - exchanged.floored_by == current + halved.winner_after - full.winner.after
    assert exchanged.after >= 100


def test_a_correction_holds_the_floor_for_the_winner_too() -> None:
    assert RULES.exchange(101, 8, 4) == (100, 3)


@pytest.mark.parametrize(
    ("winner_pr", "loser_pr", "halved"),
    [
        (6.11, 6.1, True),
        (6.1, 6.1, False),
        (6.0, 6.1, False),
        (None, 6.1, False),
        (6.1, None, False),
        (None, None, False),
        (0.1 + 0.2, 0.3, True),
        (2**53 + 1, 2**53, False),
    ],
)
def test_the_change_is_halved_only_if_the_winner_played_strictly_worse(
    winner_pr: float | None, loser_pr: float | None, halved: bool
) -> None:
    assert RULES.halves(winner_pr, loser_pr) is halved


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        (kinds("guest", "anonymous"), None),
        ({"same_network": True}, None),
        ({"mode": "hosted", "elo_enabled": True}, None),
        ({"mode": "hosted"}, "elo-disabled"),
        ({"mode": "casual", "elo_enabled": True}, "casual"),
        ({"mode": "ai"}, "computer"),
        (kinds("bot"), "computer"),
        (kinds("account", "bot"), "computer"),
        ({"mode": "casual", **kinds("bot")}, "casual"),
        ({"mode": "hosted", **kinds("bot")}, "elo-disabled"),
    ],
)
def test_only_rating_matches_of_people_count(changed: dict[str, object], reason: str | None) -> None:
    assert RULES.exclusion(match("blitzgammon", **changed)) == reason


def test_a_mode_that_no_rule_names_is_never_rated() -> None:
    with pytest.raises(KeyError):
        RULES.exclusion(match("blitzgammon", mode="friendly"))


def test_a_rated_match_without_a_length_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="has no length"):
        RULES.rate(match("blitzgammon", length=None), Standing(1500), Standing(1500))


def test_players_are_shown_from_their_first_match_and_gather_no_experience() -> None:
    assert not RULES.on_leaderboard(0, 0)
    assert RULES.on_leaderboard(1, 0)
    assert RULES.experience_gain(match("blitzgammon", length=7)) == 0
    assert RULES.pr_rule is RULES
    RULES.check(match("blitzgammon"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"starting_rating": 99}, "starting_rating must not be below the floor of 100"),
        ({"starting_rating": 1500.5}, "starting_rating must be a whole number"),
        ({"retention_days": 0}, "retention_days must be a whole number"),
        ({"floor": 100.5}, "floor must be a whole number"),
        ({"divisor": 0}, "divisor must be a number"),
        ({"k_base": -1}, "k_base must be a number"),
        ({"k_slope": math.nan}, "k_slope must be a number"),
        ({"k_min": 17}, "k_min must not be above k_max"),
        ({"k_max": 0}, "k_max must be a number"),
        ({"length_exponent": 11}, "length_exponent must be a number"),
        ({"pr_loss_multiplier": 1.5}, "pr_loss_multiplier must be a number"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match="^" + re.escape(problem)):
        BlitzGammon(**settings)  # type: ignore[arg-type]


def test_constants_are_settings() -> None:
    rules = BlitzGammon(
        starting_rating=0,
        floor=-10,
        divisor=500,
        k_base=20,
        k_slope=0.01,
        k_min=1,
        k_max=19,
        length_exponent=1,
        pr_loss_multiplier=0.25,
    )
    rated = rules.rate(match("blitzgammon", length=3), Standing(400), Standing(0), halved=True)
    raw = 3 * 18 * (1 - blitzgammon.expectation(400, 0, 500))
    assert rated.raw_change == pytest.approx(raw)
    assert (rated.winner.after, rated.loser.after) == (round(400 + raw / 4), round(0 - raw / 4))
