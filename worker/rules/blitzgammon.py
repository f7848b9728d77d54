"""BlitzGammon: Elo by match length, whole stored ratings, a floor, and a change that a PR analysis may halve.

Source: BlitzGammon rating article; rounding as decided in the rules.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from worker.rules.bounds import number, positive, retention, store, whole
from worker.rules.errors import SettingError
from worker.rules.match import MatchFinished, points
from worker.rules.rounding import hundredths_half_up, points_half_up, power_of_ten
from worker.rules.ruleset import Rated, Settled, Side, Standing

_EXCLUDED_MODES = {"rating": None, "casual": "casual", "ai": "computer"}


class Exchanged(NamedTuple):
    """A stored rating after a correction, in points, and how many points the floor swallowed of it."""

    after: int
    floored_by: int


def expectation(winner: float, loser: float, divisor: float = 800) -> float:
    """Return the winner's probability P of winning, 0..1: 1 / (1 + 10^((loser - winner) / divisor))."""
    return 1.0 / (1.0 + power_of_ten((loser - winner) / divisor))


@dataclass(frozen=True, slots=True)
class BlitzGammon:
    """The BlitzGammon rating with one pool's settings. Raises SettingError."""

    name: ClassVar[str] = "blitzgammon"
    window_ms: ClassVar[int | None] = None
    has_experience: ClassVar[bool] = False
    has_prizes: ClassVar[bool] = False
    has_links: ClassVar[bool] = False

    starting_rating: int = 1500
    retention_days: int = 30
    divisor: float = 800
    k_base: float = 32
    k_slope: float = 0.012
    k_min: float = 5
    k_max: float = 16
    length_exponent: float = 0.75
    pr_loss_multiplier: float = 0.5
    floor: int = 100

    def __post_init__(self) -> None:
        whole("starting_rating", self.starting_rating)
        retention(self.retention_days)
        whole("floor", self.floor)
        store(
            self,
            divisor=positive("divisor", self.divisor),
            k_base=number("k_base", self.k_base),
            k_slope=number("k_slope", self.k_slope),
            k_min=number("k_min", self.k_min),
            k_max=positive("k_max", self.k_max),
            length_exponent=number("length_exponent", self.length_exponent, most=10),
            pr_loss_multiplier=number("pr_loss_multiplier", self.pr_loss_multiplier, most=1),
        )
        if self.k_min > self.k_max:
            raise SettingError("k_min", f"must not be above k_max ({self.k_max:g}), but is {self.k_min:g}")
        if self.starting_rating < self.floor:
            raise SettingError(
                "starting_rating", f"must not be below the floor of {self.floor}, but is {self.starting_rating}"
            )

    @property
    def pr_rule(self) -> "BlitzGammon":
        """The ruleset itself."""
        return self

    def exclusion(self, match: MatchFinished) -> str | None:
        """Return `casual`, `elo-disabled` or `computer`, or None for a match that is rated."""
        if match.mode == "hosted":
            reason = None if match.elo_enabled else "elo-disabled"
        else:
            reason = _EXCLUDED_MODES[match.mode]
        if reason is None and (match.winner.kind == "bot" or match.loser.kind == "bot"):
            return "computer"
        return reason

    def check(self, match: MatchFinished) -> None:
        """Do nothing: there is one formula."""

    def k(self, winner: float, loser: float) -> float:
        """Return K of both players: k_base - k_slope * average of their ratings, within k_min..k_max."""
        return min(float(self.k_max), max(float(self.k_min), self.k_base - self.k_slope * (winner + loser) / 2))

    def raw_change(self, length: int, k: float, expected: float) -> float:
        """Return the unrounded full change, >= 0: length^0.75 * K * (1 - P)."""
        return math.pow(length, self.length_exponent) * k * (1.0 - expected)

    def change_hundredths(self, raw_change: float, *, halved: bool = False) -> int:
        """Return the change in hundredths of a point; halving comes before rounding."""
        return hundredths_half_up(raw_change * self.pr_loss_multiplier if halved else raw_change)

    def halves(self, winner_pr: float | None, loser_pr: float | None) -> bool:
        """Return whether the match winner played strictly worse (a higher PR); never if one PR is missing."""
        return winner_pr is not None and loser_pr is not None and float(winner_pr) > float(loser_pr)

    def settle(self, raw_change: float, winner_before: int, loser_before: int, *, halved: bool) -> Settled:
        """Return what both have after the match, from ratings before it; the floor comes last, for the loser only."""
        change = self.change_hundredths(raw_change, halved=halved)
        unfloored = points_half_up(100 * loser_before - change)
        loser_after = max(self.floor, unfloored)
        return Settled(points_half_up(100 * winner_before + change), loser_after, loser_after - unfloored)

    def exchange(self, current: int, standing: int, target: int) -> Exchanged:
        """Return a player's current rating with a match's standing contribution replaced by its target contribution.

        The floor holds for both players here. What really moved, after - current, belongs to the standing contribution.
        """
        unfloored = current + target - standing
        after = max(self.floor, unfloored)
        return Exchanged(after, after - unfloored)

    def rate(self, match: MatchFinished, winner: Standing, loser: Standing, *, halved: bool = False) -> Rated:
        """Return both results of a match to `length` points; `halved` if its PRs are known and say so."""
        length = points(match)
        winner_before, loser_before = int(winner.rating), int(loser.rating)
        expected = expectation(winner_before, loser_before, self.divisor)
        k = self.k(winner_before, loser_before)
        raw_change = self.raw_change(length, k, expected)
        settled = self.settle(raw_change, winner_before, loser_before, halved=halved)
        return Rated(
            Side(
                settled.winner_after,
                {
                    "expected": expected,
                    "k": k,
                    "divisor": self.divisor,
                    "length": length,
                    "halved": halved,
                    "floored_by": 0,
                },
            ),
            Side(
                settled.loser_after,
                {
                    "expected": 1.0 - expected,
                    "k": k,
                    "divisor": self.divisor,
                    "length": length,
                    "halved": halved,
                    "floored_by": settled.loser_floored_by,
                },
            ),
            raw_change,
        )

    def experience_gain(self, match: MatchFinished) -> int:  # noqa: ARG002
        """Return 0: nothing here goes by experience."""
        return 0

    def on_leaderboard(self, rated_games: int, experience: int) -> bool:  # noqa: ARG002
        """Return whether the player has a rated match."""
        return rated_games > 0
