"""Cases that the published texts leave open, as decided.

The window's counting itself is the tables' part: here d-004 and d-005 show what a count does to K, and d-006 that
the earlier game lies exactly on the window's edge. That the edge counts is for the tests of the tables to show.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.rules.examples import IN_1_3_1, Row, match, rows
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.gammon42 import Gammon42
from worker.rules.nardeon import Nardeon
from worker.rules.ruleset import Rated, Standing
from worker.rules.season0 import KTier, Season0

ROWS = rows("decided")
VERSION = {"1.3.1": "1.3.1", "1.2.0-1.3.0": "1.2.0"}


def _blitz(winner: int, loser: int, length: int, *, halved: bool = False) -> Rated:
    return BlitzGammon().rate(match("blitzgammon", length=length), Standing(winner), Standing(loser), halved=halved)


def _gammon42_change(row: Row) -> None:
    inputs = row["inputs"]
    rated = Gammon42().rate(
        match("gammon42", cube=inputs["cube"], formula_version=VERSION[inputs["formula_version"]]),
        Standing(inputs["winner_rating"], games_in_window=50 if inputs["winner_k"] == 16 else 0),
        Standing(inputs["loser_rating"], games_in_window=50 if inputs["loser_k"] == 16 else 0),
    )
    assert rated.winner.after - inputs["winner_rating"] == row["expected"]["winner"]
    assert rated.loser.after - inputs["loser_rating"] == row["expected"]["loser"]
    assert rated.winner.terms["divisor"] == inputs["divisor"]


def _k_by_count(row: Row) -> None:
    before = Standing(1500, games_in_window=row["inputs"]["prior_ranked_games_in_window"])
    rated = Gammon42().rate(match("gammon42", finished_at_ms=IN_1_3_1), before, Standing(1500))
    assert rated.winner.terms["k"] == row["expected"]["K"]


def _window_edge(row: Row) -> None:
    game, earlier = (datetime.fromisoformat(row["inputs"][key]) for key in ("game_at", "prior_game_at"))
    assert (game - earlier) // timedelta(milliseconds=1) == Gammon42.window_ms
    assert row["expected"] == {"counted": True}


def _blitz_late_halving(row: Row) -> None:
    rules, inputs, expected = BlitzGammon(), row["inputs"], row["expected"]
    winner, loser = inputs["winner"], inputs["loser"]
    full = _blitz(winner, loser, inputs["match_length"])
    halved = _blitz(winner, loser, inputs["match_length"], halved=True)
    for rated, wanted, is_halved in ((full, expected["full"], False), (halved, expected["halved"], True)):
        assert rated.raw_change == pytest.approx(wanted["raw"], abs=1e-12)
        assert rated.winner.terms["expected"] == pytest.approx(wanted["P"], abs=1e-12)
        assert rated.winner.terms["k"] == pytest.approx(wanted["K"], abs=1e-12)
        assert _decimals(rules.change_hundredths(rated.raw_change or 0.0, halved=is_halved)) == wanted["change"]
        assert (rated.winner.after, rated.loser.after) == (wanted["winner_new"], wanted["loser_new"])
    for side, before, after, target in (
        ("winner", winner, int(full.winner.after), int(halved.winner.after)),
        ("loser", loser, int(full.loser.after), int(halved.loser.after)),
    ):
        exchanged = rules.exchange(after, after - before, target - before)
        assert exchanged.after - after == expected["compensation"][side]
        assert exchanged.after == target


def _decimals(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def _blitz_half_point(row: Row) -> None:
    rated = _blitz(row["inputs"]["winner"], row["inputs"]["loser"], row["inputs"]["match_length"])
    assert _decimals(BlitzGammon().change_hundredths(rated.raw_change or 0.0)) == row["expected"]["change"]
    assert rated.winner.after == row["expected"]["winner_new"]
    assert rated.loser.after == row["expected"]["loser_new"]


def _blitz_halves_before_rounding(row: Row) -> None:
    wanted = row["expected"]["recompute: round2(raw/2)"]
    rated = _blitz(row["inputs"]["winner"], row["inputs"]["loser"], row["inputs"]["match_length"], halved=True)
    change = BlitzGammon().change_hundredths(rated.raw_change or 0.0, halved=True)
    assert _decimals(change) == wanted["change"]
    assert (rated.winner.after, rated.loser.after) == (wanted["winner_new"], wanted["loser_new"])


def _pr_comparison(row: Row) -> None:
    winner, loser = (
        None if row["inputs"][key] is None else float(row["inputs"][key]) for key in ("pr_winner", "pr_loser")
    )
    assert BlitzGammon().halves(winner, loser) is row["expected"]["halved"]


def _blitz_halving_after_another_match(row: Row) -> None:
    rules, expected = BlitzGammon(), row["expected"]
    first, second = row["inputs"]["m1"], row["inputs"]["m2"]
    full = _blitz(first["ratings"][0], first["ratings"][1], first["match_length"])
    assert (full.winner.after, full.loser.after) == (1523, 1477)
    between = _blitz(int(full.winner.after), second["ratings"][1], second["match_length"])
    assert {"A": between.winner.after, "C": between.loser.after} == expected["after_m2"]
    target = rules.settle(full.raw_change or 0.0, *first["ratings"], halved=True)
    a = rules.exchange(int(between.winner.after), 1523 - 1500, target.winner_after - 1500)
    b = rules.exchange(int(full.loser.after), 1477 - 1500, target.loser_after - 1500)
    assert {"A": a.after - 1554, "B": b.after - 1477} == expected["compensation"]
    assert {"A": a.after, "B": b.after, "C": between.loser.after} == expected["final_compensating"]


def _nardeon_experience(row: Row) -> None:
    inputs, expected = row["inputs"], row["expected"]
    rated = Nardeon().rate(
        match("nardeon", length=inputs["match_length"]),
        Standing(inputs["winner"], experience=inputs["winner_experience"]),
        Standing(inputs["loser"], experience=inputs["loser_experience"]),
    )
    assert rated.winner.after - inputs["winner"] == pytest.approx(expected["winner"], abs=5e-7)
    assert rated.loser.after - inputs["loser"] == pytest.approx(expected["loser"], abs=5e-7)
    assert rated.winner.terms["multiplier"] == pytest.approx(expected["winner_multiplier"], abs=1e-12)
    assert rated.loser.terms["multiplier"] == pytest.approx(expected["loser_multiplier"], abs=1e-12)


def _season0_new_ratings(row: Row) -> None:
    inputs, expected = row["inputs"], row["expected"]
    rules = Season0(k_tiers=(KTier(0, inputs["winner_k"]),))
    rated = rules.rate(match("season0"), Standing(inputs["winner"]), Standing(inputs["loser"]))
    assert (rated.winner.after, rated.loser.after) == (expected["winner_new"], expected["loser_new"])


RUNNERS: dict[tuple[str, str], Callable[[Row], None]] = {
    ("gammon42", "near-tie needs float64 and unrounded expectation"): _gammon42_change,
    ("gammon42", "near-tie ÷800"): _gammon42_change,
    ("gammon42", "zero change still counts and is still emitted"): _gammon42_change,
    ("gammon42", "mixed K + cube: K16 is not exactly half of K32 after rounding"): _gammon42_change,
    ("gammon42", "window count excludes the game being scored"): _k_by_count,
    ("gammon42", "7-day window lower edge (recommended inclusive)"): _window_edge,
    ("blitzgammon", "full change; then PR-loss halving with no match in between"): _blitz_late_halving,
    ("blitzgammon", "floor: compensation of a floored loss"): _blitz_late_halving,
    ("blitzgammon", "x.50 change: integer rounding mode"): _blitz_half_point,
    ("blitzgammon", "halve before or after the 2-decimal rounding"): _blitz_halves_before_rounding,
    ("blitzgammon", "PR comparison"): _pr_comparison,
    (
        "blitzgammon",
        "late halving after another match: compensating delta vs replay",
    ): _blitz_halving_after_another_match,
    (
        "nardeon",
        "experience before (seed) or after (FIBS client help) the match; own multiplier each",
    ): _nardeon_experience,
    ("season0", "rounding to integer: each side on its own"): _season0_new_ratings,
    ("season0", "no floor: rating may go below zero"): _season0_new_ratings,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_decision_is_kept(row: Row) -> None:
    RUNNERS[row["system"], row["trap"]](row)


def test_every_row_has_a_runner_and_its_own_id() -> None:
    assert not [row["id"] for row in ROWS if (row["system"], row["trap"]) not in RUNNERS]
    assert len({row["id"] for row in ROWS}) == len(ROWS) > 0
