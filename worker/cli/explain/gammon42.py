"""A Gammon42 game in words."""

from worker.cli.explain.arithmetic import Arithmetic, Seat, Step, seats
from worker.cli.words import before_rounding, count, factor, signed
from worker.ratings.instants import DAY_MS
from worker.ratings.rows import RatedRecord
from worker.rules.gammon42 import Formula, Gammon42, changes, coefficient, version_number
from worker.rules.match import MatchFinished
from worker.rules.rounding import round_half_away
from worker.rules.ruleset import UnpublishedFormulaError


def explain(rules: Gammon42, match: MatchFinished, rated: RatedRecord) -> Arithmetic:
    """Return the steps by which a ranked game was rated."""
    winner, loser = seats(rated)
    terms, missing = winner.terms, loser.terms["expected"]
    won, lost = changes(terms["k"], loser.terms["k"], terms["expected"], terms["coefficient"])
    formula = _formula(rules, match)
    chosen = _chosen(match.formula_version, terms["formula_version"])
    steps = (
        Step(
            "Chances",
            f"{winner.name} had {winner.before} and {loser.name} {loser.before}, so {winner.name} was expected to win "
            f"with 1 / (1 + 10^(({loser.before} - {winner.before}) / {terms['divisor']:g})) = "
            f"{factor(terms['expected'])}.",
        ),
        Step("Cube", _cube(rules, terms["cube"], terms["coefficient"])),
        Step(
            winner.id,
            f"{_k(rules, formula, winner)} {factor(terms['k'])} * (1 - {factor(terms['expected'])}) * "
            f"{factor(terms['coefficient'])} = {before_rounding(won, 0)}, rounded to {signed(winner.change)}. "
            f"{winner.adds_up}.",
        ),
        Step(
            loser.id,
            f"{_k(rules, formula, loser)} {factor(loser.terms['k'])} * (0 - {factor(missing)}) * "
            f"{factor(terms['coefficient'])} = {before_rounding(lost, 0)}, rounded to {signed(loser.change)}. "
            f"{loser.adds_up}.",
        ),
    )
    as_set_now = (
        formula is not None
        and (formula.version, formula.divisor) == (terms["formula_version"], terms["divisor"])
        and coefficient(terms["cube"], rules.cube_doublings) == terms["coefficient"]
        and all(_k_now(rules, formula, seat) == seat.terms["k"] for seat in (winner, loser))
        and (round_half_away(won), round_half_away(lost)) == (winner.change, loser.change)
    )
    return Arithmetic(f"Gammon42's formula {terms['formula_version']}, {chosen}", steps, as_set_now)


def _chosen(asked_for: str | None, version: str) -> str:
    """Return how it comes that a game was rated by this version."""
    if asked_for is None:
        return "the one in force when the game ended"
    if version_number(asked_for) == version_number(version):
        return "which the match itself asked for"
    return (
        f"the newest of this pool's published versions that is not after {asked_for}, which the match itself asked for"
    )


def _formula(rules: Gammon42, match: MatchFinished) -> Formula | None:
    try:
        return rules.formula(match)
    except UnpublishedFormulaError:
        return None


def _k_now(rules: Gammon42, formula: Formula, seat: Seat) -> float:
    return rules.k_for(seat.terms["games_in_window"]) if formula.k_by_volume else rules.k


def _cube(rules: Gammon42, cube: int, cube_coefficient: float) -> str:
    if cube == 1:
        return "Nobody doubled, so the result counts once."
    return f"The cube stood at {cube}: 1 + log2({cube}) / {rules.cube_doublings:g} = {factor(cube_coefficient)}."


def _k(rules: Gammon42, formula: Formula | None, seat: Seat) -> str:
    k = factor(seat.terms["k"])
    if formula is None or not formula.k_by_volume:
        return f"K is {k} for everyone in this formula."
    games: int = seat.terms["games_in_window"]
    days = rules.window_ms / DAY_MS if rules.window_ms else 0
    side = "or more" if games >= rules.heavy_games else "not yet reached"
    return (
        f"K is {k}, because {seat.name} had played {count(games, 'ranked game')} in the {days:g} days before "
        f"({rules.heavy_games} {side})."
    )
