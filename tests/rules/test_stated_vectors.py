"""Every number that the platforms publish themselves."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rules.examples import IN_1_3_1, Row, kinds, match, rows
from worker.rules import gammon42, nardeon, season0
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.gammon42 import Gammon42
from worker.rules.match import MatchFinished
from worker.rules.nardeon import Nardeon
from worker.rules.pools import RULESETS
from worker.rules.ruleset import Rated, Standing
from worker.rules.season0 import KTier, Season0

ROWS = rows("stated")

FROM_2025, FROM_JULY_2026 = 1_735_689_600_000, 1_782_864_000_000
FINISHED_AT = {
    "<1.2.0": FROM_2025,
    "1.2.0-1.3.0": FROM_JULY_2026,
    "1.3.1": IN_1_3_1,
    ">=1.3.1": IN_1_3_1,
}

UNREACHABLE = {
    "gammon42-009": "prizes are amounts of an event, not of the rules; tests/ratings/test_prize.py pays them",
    "gammon42-010": "the platform counts missed moves; the event says timed_out, which gammon42-153 rates",
    "gammon42-142": "scoreboard points never reach a rating; gammon42-145 rates a gammon like any win",
    "gammon42-143": "scoreboard points never reach a rating; gammon42-146 rates a backgammon like any win",
}

CONSTANTS: dict[tuple[str, str], Callable[[], Any]] = {
    ("gammon42", "starting_rating"): lambda: Gammon42().starting_rating,
    ("gammon42", "K"): lambda: Gammon42().k,
    ("gammon42", "heavy_volume_K"): lambda: Gammon42().heavy_k,
    ("gammon42", "heavy_volume_games"): lambda: Gammon42().heavy_games,
    ("gammon42", "heavy_volume_window_seconds"): lambda: (Gammon42.window_ms or 0) / 1000,
    ("gammon42", "divisor_since_1.3.1"): lambda: _divisor_at(IN_1_3_1),
    ("gammon42", "divisor_1.2.0_to_1.3.0"): lambda: _divisor_at(FROM_JULY_2026),
    ("gammon42", "divisor_before_1.2.0"): lambda: _divisor_at(FROM_2025),
    ("gammon42", "cube_coefficient_max"): lambda: max(gammon42.coefficient(2**power) for power in range(7)),
    ("gammon42", "cube_coefficient_min"): lambda: min(gammon42.coefficient(2**power) for power in range(7)),
    ("blitzgammon", "divisor"): lambda: BlitzGammon().divisor,
    ("blitzgammon", "k_base"): lambda: BlitzGammon().k_base,
    ("blitzgammon", "k_slope"): lambda: BlitzGammon().k_slope,
    ("blitzgammon", "k_min"): lambda: BlitzGammon().k(3000, 3000),
    ("blitzgammon", "k_max"): lambda: BlitzGammon().k(100, 100),
    ("blitzgammon", "length_exponent"): lambda: BlitzGammon().length_exponent,
    ("blitzgammon", "change_decimals"): lambda: len(str(BlitzGammon().change_hundredths(1.0))) - 1,
    ("blitzgammon", "stored_rating_decimals"): lambda: 0 if isinstance(_blitz_winner_after(), int) else 1,
    ("blitzgammon", "loser_lower_bound"): lambda: BlitzGammon().settle(16.0, 100, 100, halved=False).loser_after,
    ("blitzgammon", "pr_loss_multiplier"): lambda: BlitzGammon().pr_loss_multiplier,
    ("nardeon", "starting_rating"): lambda: Nardeon().starting_rating,
    ("nardeon", "scale"): lambda: Nardeon().divisor,
    ("nardeon", "base_k"): lambda: Nardeon().k,
    ("nardeon", "boost_max"): lambda: Nardeon().multiplier(0),
    ("nardeon", "boost_step_experience"): lambda: Nardeon().boost_step_experience,
    ("nardeon", "boost_end_experience"): lambda: next(e for e in range(1000) if Nardeon().multiplier(e) == 1),
    ("nardeon", "leaderboard_min_experience"): lambda: Nardeon().leaderboard_experience,
    ("season0", "starting_rating"): lambda: Season0().starting_rating,
    ("season0", "scale"): lambda: Season0().divisor,
    ("season0", "established_K"): lambda: Season0().k_for(1000),
}

CASES: dict[tuple[str, str], MatchFinished] = {
    ("gammon42", "ranked"): match("gammon42"),
    ("gammon42", "boosted"): match("gammon42", mode="boosted"),
    ("gammon42", "casual (name before 1.3.0)"): match("gammon42", mode="casual"),
    ("gammon42", "tournament_game"): match("gammon42", mode="tournament"),
    ("gammon42", "ranked_resigned"): match("gammon42", end_reason="resigned"),
    ("gammon42", "ranked_disconnected"): match("gammon42", end_reason="disconnected"),
    ("gammon42", "ranked_timeout_3_moves"): match("gammon42", end_reason="timed_out"),
    ("blitzgammon", "rating_game"): match("blitzgammon"),
    ("blitzgammon", "hosted_elo_enabled_eligible"): match("blitzgammon", mode="hosted", elo_enabled=True),
    ("blitzgammon", "practice_vs_ai"): match("blitzgammon", mode="ai"),
    ("blitzgammon", "casual"): match("blitzgammon", mode="casual"),
    ("nardeon", "public_queue_both_accounts"): match("nardeon"),
    ("nardeon", "private_room"): match("nardeon", mode="private"),
    ("nardeon", "club_table"): match("nardeon", mode="club"),
    ("nardeon", "vs_computer"): match("nardeon", mode="computer"),
    ("nardeon", "two_players_one_screen"): match("nardeon", mode="local"),
    ("nardeon", "same_address"): match("nardeon", same_network=True),
    ("nardeon", "guest_in_match"): match("nardeon", **kinds("account", "guest")),
    ("season0", "vs_bot"): match("season0", **kinds("account", "bot")),
    ("season0", "shared_network"): match("season0", same_network=True),
    ("season0", "anonymous_id"): match("season0", **kinds("anonymous", "anonymous")),
    ("season0", "account"): match("season0"),
}


def _divisor_at(finished_at_ms: int) -> float:
    return Gammon42().formula(match("gammon42", finished_at_ms=finished_at_ms)).divisor


def _blitz_winner_after() -> object:
    return BlitzGammon().rate(match("blitzgammon"), Standing(1500), Standing(1501)).winner.after


def _constant(row: Row) -> None:
    if row["id"] in UNREACHABLE:
        assert (row["system"], row["inputs"]["name"]) not in CONSTANTS
        return
    assert CONSTANTS[row["system"], row["inputs"]["name"]]() == row["expected"] == row["computed"]


def _gammon42_expected_pct(row: Row) -> None:
    gap, divisor = row["inputs"]["gap"], row["inputs"]["divisor"]
    percent = 100 * gammon42.expectation(1500 + gap, 1500, divisor)
    assert round(percent, row["tolerance_decimals"]) == row["expected"]
    assert percent == pytest.approx(row["computed"], abs=5e-5)


def _gammon42_change(row: Row) -> None:
    inputs, computed = row["inputs"], row["computed"]
    game = match(
        "gammon42",
        cube=inputs["cube"],
        finished_at_ms=FINISHED_AT[inputs["formula_version"]],
        win_type=inputs.get("win_type"),
    )
    rated = Gammon42().rate(
        game,
        Standing(inputs["winner_rating"], games_in_window=50 if inputs["winner_k"] == 16 else 49),
        Standing(inputs["loser_rating"], games_in_window=50 if inputs["loser_k"] == 16 else 49),
    )
    for side, own in ((rated.winner, "winner"), (rated.loser, "loser")):
        assert side.after - inputs[f"{own}_rating"] == row["expected"][own] == computed[own]
        assert side.terms["k"] == inputs[f"{own}_k"]
        assert side.terms["divisor"] == inputs["divisor"]
    expected = gammon42.expectation(inputs["winner_rating"], inputs["loser_rating"], inputs["divisor"])
    won, lost = gammon42.changes(inputs["winner_k"], inputs["loser_k"], expected, gammon42.coefficient(inputs["cube"]))
    assert won == pytest.approx(computed.get("winner_unrounded", won), abs=1e-12)
    assert lost == pytest.approx(computed.get("loser_unrounded", lost), abs=1e-12)


def _gammon42_k_for(row: Row) -> None:
    assert Gammon42().k_for(row["inputs"]["recent_ranked_games"]) == row["expected"] == row["computed"]


def _gammon42_coefficient(row: Row) -> None:
    coefficient = gammon42.coefficient(row["inputs"]["cube"])
    assert round(coefficient, row["tolerance_decimals"]) == row["expected"]
    assert coefficient == pytest.approx(row["computed"], abs=1e-12)


def _nardeon_expected_pct(row: Row) -> None:
    percent = 100 * nardeon.expectation(1500 + row["inputs"]["gap"], 1500, row["inputs"]["match_length"])
    assert round(percent, row.get("tolerance_decimals", 0)) == row["expected"]
    assert percent == pytest.approx(row["computed"], abs=5e-5)


def _nardeon_rated(inputs: Row) -> Rated:
    return Nardeon().rate(
        match("nardeon", length=inputs["match_length"]),
        Standing(inputs["winner_rating"], experience=inputs["winner_experience"]),
        Standing(inputs["loser_rating"], experience=inputs["loser_experience"]),
    )


def _nardeon_change(row: Row) -> None:
    rated = _nardeon_rated(row["inputs"])
    assert rated.winner.after - row["inputs"]["winner_rating"] == row["expected"]["winner"] == row["computed"]
    assert rated.loser.after - row["inputs"]["loser_rating"] == row["expected"]["loser"]


def _nardeon_multiplier(row: Row) -> None:
    assert Nardeon().multiplier(row["inputs"]["experience"]) == row["expected"] == row["computed"]


def _nardeon_leaderboard(row: Row) -> None:
    rules, lengths = Nardeon(), row["inputs"]["match_lengths"]
    experience = sum(rules.experience_gain(match("nardeon", length=length)) for length in lengths)
    assert experience == row["expected"]["experience"]
    assert rules.on_leaderboard(len(lengths), experience) is row["expected"]["visible"]


def _nardeon_experience_gain(row: Row) -> None:
    assert Nardeon().experience_gain(match("nardeon", length=row["inputs"]["match_length"])) == row["expected"]


def _season0_expected(row: Row) -> None:
    expected = season0.expectation(row["inputs"]["rating"], row["inputs"]["opponent"])
    assert round(expected, row["tolerance_decimals"]) == row["expected"]
    assert expected == pytest.approx(row["computed"], abs=1e-12)


def _season0_change(row: Row) -> None:
    inputs, expected = row["inputs"], row["expected"]
    rules = Season0(k_tiers=(KTier(0, inputs["winner_k"]),))
    rated = rules.rate(match("season0"), Standing(inputs["winner_rating"]), Standing(inputs["loser_rating"]))
    assert (rated.winner.after, rated.loser.after) == (expected["winner_new"], expected["loser_new"])
    assert rated.winner.after - inputs["winner_rating"] == expected["winner"]
    assert rated.loser.after - inputs["loser_rating"] == expected["loser"]
    unrounded = season0.change(
        inputs["winner_k"], 1, season0.expectation(inputs["winner_rating"], inputs["loser_rating"])
    )
    assert unrounded == pytest.approx(row["computed"]["unrounded"], abs=1e-12)


def _eligibility(row: Row) -> None:
    reason = RULESETS[row["system"]]().exclusion(CASES[row["system"], row["inputs"]["case"]])
    assert (reason is None) is row["expected"] is row["computed"]


RUNNERS: dict[tuple[str, str], Callable[[Row], None]] = {
    ("gammon42", "constant"): _constant,
    ("gammon42", "expected_pct"): _gammon42_expected_pct,
    ("gammon42", "change"): _gammon42_change,
    ("gammon42", "k_for"): _gammon42_k_for,
    ("gammon42", "cube_coefficient"): _gammon42_coefficient,
    ("gammon42", "eligibility"): _eligibility,
    ("blitzgammon", "constant"): _constant,
    ("blitzgammon", "eligibility"): _eligibility,
    ("nardeon", "constant"): _constant,
    ("nardeon", "expected_pct"): _nardeon_expected_pct,
    ("nardeon", "change"): _nardeon_change,
    ("nardeon", "experience_multiplier"): _nardeon_multiplier,
    ("nardeon", "leaderboard"): _nardeon_leaderboard,
    ("nardeon", "experience_gain"): _nardeon_experience_gain,
    ("nardeon", "eligibility"): _eligibility,
    ("season0", "constant"): _constant,
    ("season0", "expected"): _season0_expected,
    ("season0", "change"): _season0_change,
    ("season0", "eligibility"): _eligibility,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_published_number_comes_out(row: Row) -> None:
    RUNNERS[row["system"], row["kind"]](row)


def test_every_row_has_a_runner_and_its_own_id() -> None:
    assert not [row["id"] for row in ROWS if (row["system"], row["kind"]) not in RUNNERS]
    assert len({row["id"] for row in ROWS}) == len(ROWS) > 0


def test_only_the_rows_that_rules_cannot_show_are_unreachable() -> None:
    beyond = {
        row["id"]
        for row in ROWS
        if row["kind"] == "constant" and (row["system"], row["inputs"]["name"]) not in CONSTANTS
    }
    assert beyond == set(UNREACHABLE)
