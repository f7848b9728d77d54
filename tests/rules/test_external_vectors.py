"""Numbers that other platforms publish for the same formulas: independent oracles, below the storage of integers."""

from collections.abc import Callable

import pytest

from tests.rules.examples import Row, rows
from worker.rules import blitzgammon, nardeon
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.nardeon import Nardeon

ROWS = rows("external")


def _blitzgammon_change(row: Row) -> None:
    rules, inputs, expected = BlitzGammon(), row["inputs"], row["expected"]
    chance = blitzgammon.expectation(inputs["winner"], inputs["loser"])
    k = rules.k(inputs["winner"], inputs["loser"])
    raw = rules.raw_change(inputs["match_length"], k, chance)
    hundredths = rules.change_hundredths(raw)
    assert chance == pytest.approx(row["computed"]["P"], abs=1e-12)
    assert k == pytest.approx(row["computed"]["K"], abs=1e-12)
    assert raw == pytest.approx(row["computed"]["change"], abs=1e-12)
    assert hundredths == round(100 * expected["change"])
    assert round(chance, 8) == expected.get("P", round(chance, 8))
    assert round(k, 5) == expected.get("K", round(k, 5))
    assert round(inputs["winner"] + hundredths / 100, 2) == expected["new_winner"]
    assert round(inputs["loser"] - hundredths / 100, 2) == expected["new_loser"]


def _fibs_change(row: Row) -> None:
    rules, inputs = Nardeon(), row["inputs"]
    gap, length = inputs["opponent_minus_me"], inputs["match_length"]
    multiplier = rules.multiplier(inputs["experience"])
    win = rules.change(length, nardeon.expectation(0, gap, length), multiplier)
    lose = -rules.change(length, nardeon.expectation(gap, 0, length), multiplier)
    printed = 0.5 if "tolerance 0.5" in row.get("note", "") else 0.05
    for outcome, change in (("win", win), ("lose", lose)):
        assert change == pytest.approx(row["computed"][outcome], abs=1e-12)
        assert abs(change - row["expected"][outcome]) <= printed


def _fibs_expected(row: Row) -> None:
    chance = nardeon.expectation(1500 + row["inputs"]["gap"], 1500, row["inputs"]["match_length"])
    assert chance == pytest.approx(row["computed"], abs=1e-12)
    assert round(chance, 3) == row["expected"]


RUNNERS: dict[tuple[str, str], Callable[[Row], None]] = {
    ("blitzgammon", "change"): _blitzgammon_change,
    ("fibs", "change"): _fibs_change,
    ("fibs", "expected"): _fibs_expected,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_number_published_elsewhere_comes_out(row: Row) -> None:
    RUNNERS[row["system"], row["kind"]](row)


def test_every_row_has_a_runner_and_its_own_id() -> None:
    assert not [row["id"] for row in ROWS if (row["system"], row["kind"]) not in RUNNERS]
    assert len({row["id"] for row in ROWS}) == len(ROWS) > 0
