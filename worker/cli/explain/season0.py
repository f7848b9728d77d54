"""A Season 0 game in words."""

from worker.cli.explain.arithmetic import Arithmetic, Seat, Step, seats
from worker.cli.words import before_rounding, factor, signed
from worker.ratings.rows import RatedRecord
from worker.rules.match import MatchFinished
from worker.rules.rounding import round_half_away
from worker.rules.season0 import Season0, change, expectation


def explain(rules: Season0, match: MatchFinished, rated: RatedRecord) -> Arithmetic:  # noqa: ARG001
    """Return the steps by which a game was rated."""
    winner, loser = seats(rated)
    divisor = winner.terms["divisor"]
    steps = (
        Step(
            "Chances",
            f"{winner.name} had {winner.before} and {loser.name} {loser.before}, so {winner.name} was expected to win "
            f"with 1 / (1 + 10^(({loser.before} - {winner.before}) / {divisor:g})) = "
            f"{factor(winner.terms['expected'])}, and {loser.name} with {factor(loser.terms['expected'])}.",
        ),
        Step(winner.id, _own(rules, winner, 1)),
        Step(loser.id, _own(rules, loser, 0)),
    )
    as_set_now = (
        divisor == rules.divisor
        and expectation(winner.before, loser.before, rules.divisor) == winner.terms["expected"]
        and all(
            seat.terms["k"] in {tier.k for tier in rules.k_tiers} and _rounded(seat, result) == seat.change
            for seat, result in ((winner, 1), (loser, 0))
        )
    )
    return Arithmetic("Season 0's rating rule", steps, as_set_now)


def _own(rules: Season0, seat: Seat, result: int) -> str:
    k = factor(seat.terms["k"])
    why = "for everyone" if len(rules.k_tiers) == 1 else f"by the number of games {seat.name} had played before"
    raw = change(seat.terms["k"], result, seat.terms["expected"])
    return (
        f"K is {k} {why}. {k} * ({result} - {factor(seat.terms['expected'])}) = {before_rounding(raw, 0)}, "
        f"rounded to {signed(seat.change)}. {seat.adds_up}."
    )


def _rounded(seat: Seat, result: int) -> int:
    return round_half_away(change(seat.terms["k"], result, seat.terms["expected"]))
