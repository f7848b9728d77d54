import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from worker.rules.rounding import hundredths_half_up, points_half_up, power_of_ten, round_half_away

doubles = st.floats(-1e15, 1e15)


@given(doubles)
@example(0.5)
@example(-0.5)
@example(2.5)
@example(-2.5)
@example(0.49999999999999994)
@example(-0.49999999999999994)
@example(4503599627370497.0)
def test_ties_go_away_from_zero_and_nothing_else_is_moved(value: float) -> None:
    assert round_half_away(value) == int(Decimal(value).to_integral_value(ROUND_HALF_UP))


@given(doubles)
def test_rounding_mirrors_at_zero(value: float) -> None:
    assert round_half_away(-value) == -round_half_away(value)


@given(st.floats(0, 1e9))
@example(1.505)
@example(0.125)
@example(0.005)
@example(0.045)
def test_hundredths_go_by_the_exact_value_of_the_double(value: float) -> None:
    assert hundredths_half_up(value) == int((Decimal(value) * 100).to_integral_value(ROUND_HALF_UP))


@given(st.integers(-(10**9), 10**9))
@example(50)
@example(-50)
@example(-150)
def test_half_points_go_up_also_below_zero(hundredths: int) -> None:
    assert points_half_up(hundredths) == math.floor(Decimal(hundredths) / 100 + Decimal("0.5"))


@pytest.mark.parametrize("exponent", [309.0, 1e300, math.inf])
def test_an_overflow_is_infinity(exponent: float) -> None:
    assert power_of_ten(exponent) == math.inf


@given(st.floats(-400, 308))
def test_a_power_that_fits_is_the_one_of_the_c_library(exponent: float) -> None:
    assert power_of_ten(exponent) == math.pow(10.0, exponent)
