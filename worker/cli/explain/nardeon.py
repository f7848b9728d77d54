"""A NARDEON match in words."""

import math

from worker.cli.explain.arithmetic import Arithmetic, Seat, Step, seats
from worker.cli.words import count, factor, shown_rating, signed
from worker.ratings.rows import RatedRecord
from worker.rules.match import MatchFinished
from worker.rules.nardeon import Nardeon, expectation


def explain(rules: Nardeon, match: MatchFinished, rated: RatedRecord) -> Arithmetic:  # noqa: ARG001
    """Return the steps by which a match was rated."""
    winner, loser = seats(rated)
    length: int = winner.terms["length"]
    expected: float = winner.terms["expected"]
    base = rules.change(length, expected, 1.0)
    ahead = f"{shown_rating(winner.before)} - {shown_rating(loser.before)}"
    steps = (
        Step(
            "Chances",
            f"{winner.name} had {shown_rating(winner.before)} and {loser.name} {shown_rating(loser.before)}, so over "
            f"{count(length, 'point')} {winner.name} was expected to win with "
            f"1 / (1 + 10^(-({ahead}) * sqrt({length}) / {rules.divisor:g})) = {factor(expected)}.",
        ),
        Step("Change", f"{rules.k:g} * sqrt({length}) * (1 - {factor(expected)}) = {base:.2f}."),
        Step(winner.id, _own(rules, winner, length)),
        Step(loser.id, _own(rules, loser, length)),
    )
    as_set_now = (
        expectation(winner.before, loser.before, length, rules.divisor) == expected
        and all(rules.multiplier(seat.terms["experience"]) == seat.terms["multiplier"] for seat in (winner, loser))
        and winner.before + rules.change(length, expected, winner.terms["multiplier"]) == winner.after
        and loser.before - rules.change(length, expected, loser.terms["multiplier"]) == loser.after
    )
    return Arithmetic(
        "NARDEON's formula, that of FIBS, which rounds nothing: two decimals are shown", steps, as_set_now
    )


def _own(rules: Nardeon, seat: Seat, length: int) -> str:
    experience: int = seat.terms["experience"]
    multiplier: float = seat.terms["multiplier"]
    if math.isclose(multiplier, rules.boost_min):
        why = f"With {count(experience, 'point')} of experience the change counts {_times(multiplier)}"
    else:
        why = (
            f"With {count(experience, 'point')} of experience the change counts {rules.boost_max:g} - {experience} / "
            f"{rules.boost_step_experience:g} = {_times(multiplier)}"
        )
    return (
        f"{why}: {signed(float(seat.change))}. {seat.adds_up}. "
        f"The {count(length, 'point')} of the match make it {experience + length:,} of experience."
    )


def _times(multiplier: float) -> str:
    return "once" if multiplier == 1 else f"{factor(multiplier)} times"
