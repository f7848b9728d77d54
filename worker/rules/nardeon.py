"""NARDEON: the FIBS formula with a boost for new players, in unrounded doubles. Source: NARDEON rating article."""

import math
from dataclasses import dataclass
from typing import ClassVar

from worker.rules.bounds import number, positive, retention, store, whole
from worker.rules.errors import SettingError
from worker.rules.match import MatchFinished, points
from worker.rules.rounding import power_of_ten
from worker.rules.ruleset import Rated, Side, Standing

_EXCLUDED_MODES = {
    "public": None,
    "private": "private-room",
    "club": "club-table",
    "local": "one-screen",
    "computer": "computer",
}
_WITHOUT_ACCOUNT = frozenset({"guest", "anonymous"})


def expectation(winner: float, loser: float, length: int, divisor: float = 2000) -> float:
    """Return the winner's probability P of winning a match to `length`: 1 / (1 + 10^(-(gap) * sqrt(length) / 2000))."""
    return 1.0 / (1.0 + power_of_ten(-(winner - loser) * math.sqrt(length) / divisor))


@dataclass(frozen=True, slots=True)
class Nardeon:
    """The NARDEON rating with one pool's settings; experience is in match points. Raises SettingError."""

    name: ClassVar[str] = "nardeon"
    window_ms: ClassVar[int | None] = None
    has_experience: ClassVar[bool] = True
    has_prizes: ClassVar[bool] = False
    has_links: ClassVar[bool] = False

    starting_rating: float = 1500.0
    retention_days: int = 30
    divisor: float = 2000
    k: float = 4
    boost_max: float = 5
    boost_min: float = 1
    boost_step_experience: float = 100
    leaderboard_experience: int = 10

    def __post_init__(self) -> None:
        retention(self.retention_days)
        whole("leaderboard_experience", self.leaderboard_experience, least=0)
        store(
            self,
            starting_rating=float(number("starting_rating", self.starting_rating, least=-1_000_000)),
            divisor=positive("divisor", self.divisor),
            k=positive("k", self.k),
            boost_max=positive("boost_max", self.boost_max),
            boost_min=positive("boost_min", self.boost_min),
            boost_step_experience=positive("boost_step_experience", self.boost_step_experience),
        )
        if self.boost_min > self.boost_max:
            raise SettingError(
                "boost_min", f"must not be above boost_max ({self.boost_max:g}), but is {self.boost_min:g}"
            )

    @property
    def pr_rule(self) -> None:
        """None: PRs change nothing here."""

    def exclusion(self, match: MatchFinished) -> str | None:
        """Return why the match does not count, or None for one of the public queue between two accounts."""
        reason = _EXCLUDED_MODES[match.mode]
        if reason is not None:
            return reason
        kinds = match.winner.kind, match.loser.kind
        if "bot" in kinds:
            return "computer"
        if not _WITHOUT_ACCOUNT.isdisjoint(kinds):
            return "guest"
        return "same-address" if match.same_network else None

    def check(self, match: MatchFinished) -> None:
        """Do nothing: there is one formula."""

    def multiplier(self, experience: int) -> float:
        """Return the boost of a player with that much experience before the match: max(1, 5 - experience / 100)."""
        return max(float(self.boost_min), self.boost_max - experience / self.boost_step_experience)

    def change(self, length: int, expected: float, multiplier: float) -> float:
        """Return what the winner gains, >= 0: 4 * sqrt(length) * (1 - P) * multiplier; the loser's is its negative."""
        return self.k * math.sqrt(length) * (1.0 - expected) * multiplier

    def rate(self, match: MatchFinished, winner: Standing, loser: Standing, *, halved: bool = False) -> Rated:  # noqa: ARG002
        """Return both results of a match to `length` points, unrounded; nothing is ever halved here."""
        length = points(match)
        expected = expectation(winner.rating, loser.rating, length, self.divisor)
        winner_multiplier = self.multiplier(winner.experience)
        loser_multiplier = self.multiplier(loser.experience)
        return Rated(
            Side(
                winner.rating + self.change(length, expected, winner_multiplier),
                {
                    "expected": expected,
                    "length": length,
                    "experience": winner.experience,
                    "multiplier": winner_multiplier,
                },
            ),
            Side(
                loser.rating - self.change(length, expected, loser_multiplier),
                {
                    "expected": 1.0 - expected,
                    "length": length,
                    "experience": loser.experience,
                    "multiplier": loser_multiplier,
                },
            ),
        )

    def experience_gain(self, match: MatchFinished) -> int:
        """Return the length of the match, in points: what both players' experience grows by."""
        return points(match)

    def on_leaderboard(self, rated_games: int, experience: int) -> bool:
        """Return whether the player has a rated match and enough experience."""
        return rated_games > 0 and experience >= self.leaderboard_experience
