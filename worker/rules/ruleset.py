"""What every rating system answers: may this match count, and what does it do to both ratings."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

from msgspec import Struct

from worker.rules.match import MatchFinished

Rating = int | float
"""A rating in points: int where the ruleset stores integers, float (an IEEE double, unrounded) in nardeon."""


class UnpublishedFormulaError(ValueError):
    """The match falls under a formula version that nobody has published."""


class Standing(Struct, frozen=True, gc=False):
    """What a rule may know of a player before the match.

    `experience` is in match points, `games_in_window` counts rated games in the ruleset's window before this match.
    """

    rating: Rating
    rated_games: int = 0
    experience: int = 0
    games_in_window: int = 0


class Side(Struct, frozen=True, gc=False):
    """One player's result: the rating after the match, and the terms of the arithmetic by their wire names."""

    after: Rating
    terms: Mapping[str, object]


class Rated(Struct, frozen=True, gc=False):
    """Both results of one match; `raw_change` is kept only where a later PR analysis may halve it."""

    winner: Side
    loser: Side
    raw_change: float | None = None


class Settled(Struct, frozen=True, gc=False):
    """Both ratings right after a match under one way to settle it, and the points that a floor swallowed."""

    winner_after: int
    loser_after: int
    loser_floored_by: int


class PrRule(Protocol):
    """What a ruleset adds that halves a match's change when its winner played worse by performance rating (PR)."""

    def halves(self, winner_pr: float | None, loser_pr: float | None) -> bool:
        """Return whether these PRs halve the change; a missing PR and a tie do not."""

    def settle(self, raw_change: float, winner_before: int, loser_before: int, *, halved: bool) -> Settled:
        """Return both ratings had the match been settled so at once, floor included."""

    def exchange(self, current: int, standing: int, target: int) -> tuple[int, int]:
        """Return (rating after, points floored) where a contribution of `standing` becomes `target`."""


class Ruleset(Protocol):
    """One published rating system with one pool's settings, all of them frozen.

    The fields of an implementing dataclass are the keys a pool may set in the pools file.
    """

    name: ClassVar[str]
    window_ms: ClassVar[int | None]
    """Length of the sliding window of games that the rules count, None where they count none."""
    has_experience: ClassVar[bool]
    has_prizes: ClassVar[bool]
    """Whether tournaments pay out rating points."""
    has_links: ClassVar[bool]
    """Whether accounts claim anonymous ids."""

    @property
    def starting_rating(self) -> Rating:
        """Rating of a player nobody has seen yet, in points."""

    @property
    def retention_days(self) -> int:
        """How long before its record's timestamp a match may have ended, in days."""

    @property
    def pr_rule(self) -> PrRule | None:
        """The rule by which analyses halve changes, None where PRs change nothing."""

    def exclusion(self, match: MatchFinished) -> str | None:
        """Return why this match does not count (an `excluded_reason`), or None if it is rated."""

    def check(self, match: MatchFinished) -> None:
        """Raise UnpublishedFormulaError if no published formula covers this match."""

    def rate(self, match: MatchFinished, winner: Standing, loser: Standing, *, halved: bool = False) -> Rated:
        """Return both results of a match that is rated."""

    def experience_gain(self, match: MatchFinished) -> int:
        """Return by how much both players' experience grows, in match points; 0 where there is none."""

    def on_leaderboard(self, rated_games: int, experience: int) -> bool:
        """Return whether a player who has played that much is shown."""
