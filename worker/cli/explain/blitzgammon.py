"""A BlitzGammon match in words, as it was rated when it came; what analyses did later is told elsewhere."""

from worker.cli.explain.arithmetic import Arithmetic, Seat, Step, seats
from worker.cli.words import before_rounding, count, factor
from worker.ratings.rows import RatedRecord
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.match import MatchFinished


def explain(rules: BlitzGammon, match: MatchFinished, rated: RatedRecord) -> Arithmetic:  # noqa: ARG001
    """Return the steps by which a match was rated."""
    winner, loser = seats(rated)
    terms, raw = winner.terms, rated.raw_change or 0.0
    halved: bool = terms["halved"]
    hundredths = rules.change_hundredths(raw, halved=halved)
    steps = [
        Step(
            "Chances",
            f"{winner.name} had {winner.before} and {loser.name} {loser.before}, so {winner.name} was expected to win "
            f"with 1 / (1 + 10^(({loser.before} - {winner.before}) / {terms['divisor']:g})) = "
            f"{factor(terms['expected'])}.",
        ),
        Step("K", _k(rules, winner, loser)),
        Step(
            "Full change",
            f"A match to {count(terms['length'], 'point')}: {terms['length']}^{rules.length_exponent:g} * "
            f"{factor(terms['k'])} * (1 - {factor(terms['expected'])}) = {before_rounding(raw, 2)}"
            + ("." if halved else f", rounded to {points(hundredths)}."),
        ),
    ]
    if halved:
        why = f"{winner.name} won, but played worse by PR, so the change counts"
        steps.append(Step("Halved", f"{why} {half(rules, raw)}."))
    steps += [
        Step(winner.id, f"{winner.before} + {points(hundredths)}, rounded to {winner.after}."),
        Step(
            loser.id,
            f"{loss(rules, int(loser.before), hundredths, int(loser.after), loser.terms['floored_by'])}."
            + (f" {not_owed(loser.terms['floored_by'])}" if loser.terms["floored_by"] else ""),
        ),
    ]
    settled = rules.settle(raw, int(winner.before), int(loser.before), halved=halved)
    as_set_now = (
        settled.winner_after == winner.after
        and settled.loser_after == loser.after
        and rules.k(winner.before, loser.before) == terms["k"]
        and rules.raw_change(terms["length"], terms["k"], terms["expected"]) == raw
    )
    return Arithmetic("BlitzGammon's rating rule", tuple(steps), as_set_now)


def half(rules: BlitzGammon, raw: float) -> str:
    """Return what half a change is: `half: 11.7030, rounded to 11.70`."""
    return (
        f"{share(rules)}: {before_rounding(raw * rules.pr_loss_multiplier, 2)}, "
        f"rounded to {points(rules.change_hundredths(raw, halved=True))}"
    )


def share(rules: BlitzGammon) -> str:
    """Return how much a halved change counts: `half`, or the number where a pool sets another."""
    return "half" if rules.pr_loss_multiplier == 0.5 else factor(rules.pr_loss_multiplier)


def _k(rules: BlitzGammon, winner: Seat, loser: Seat) -> str:
    free = rules.k_base - rules.k_slope * (winner.before + loser.before) / 2
    text = (
        f"{rules.k_base:g} - {rules.k_slope:g} * ({winner.before} + {loser.before}) / 2 = {factor(free)}, "
        f"within {rules.k_min:g} and {rules.k_max:g}"
    )
    k = factor(winner.terms["k"])
    return f"{text}." if free == winner.terms["k"] else f"{text}: {k}."


def loss(rules: BlitzGammon, before: int, hundredths: int, after: int, floored_by: int) -> str:
    """Return what the loser's rating comes to, and whether the floor stopped it."""
    difference = f"{before} - {points(hundredths)}"
    if not floored_by:
        return f"{difference}, rounded to {after}"
    return f"{difference} would make {after - floored_by}, but nobody falls below {rules.floor}"


def not_owed(floored_by: int) -> str:
    """Return what becomes of the points that a floor swallowed."""
    return f"The floor swallowed {count(floored_by, 'point')}; {'it is' if floored_by == 1 else 'they are'} not owed."


def points(hundredths: int) -> str:
    """Return hundredths of a point (>= 0) as points with two decimals."""
    return f"{hundredths // 100}.{hundredths % 100:02d}"
