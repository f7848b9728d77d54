"""Season 0: plain Elo on whole ratings, K by a player's number of games. Source: Season 0 ranking article."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from worker.rules.bounds import positive, retention, store, whole
from worker.rules.errors import SettingError
from worker.rules.match import MatchFinished
from worker.rules.rounding import power_of_ten, round_half_away
from worker.rules.ruleset import Rated, Side, Standing

_EXCLUDED_MODES = {"ranked": None, "bot": "bot"}


class KTier(NamedTuple):
    """K of a player who has at least `from_games` rated games before this one."""

    from_games: int
    k: float


def expectation(own: float, opponent: float, divisor: float = 400) -> float:
    """Return a player's own expected score, 0..1: 1 / (1 + 10^((opponent - own) / divisor))."""
    return 1.0 / (1.0 + power_of_ten((opponent - own) / divisor))


def change(k: float, result: float, expected: float) -> float:
    """Return a player's own change before rounding: K * (result - expected), result 1 for a win and 0 for a loss."""
    return k * (result - expected)


@dataclass(frozen=True, slots=True)
class Season0:
    """The Season 0 rating with one pool's settings; there is no floor. Raises SettingError."""

    name: ClassVar[str] = "season0"
    window_ms: ClassVar[int | None] = None
    has_experience: ClassVar[bool] = False
    has_prizes: ClassVar[bool] = False
    has_links: ClassVar[bool] = True

    starting_rating: int = 1200
    retention_days: int = 30
    divisor: float = 400
    k_tiers: tuple[KTier, ...] = (KTier(0, 16),)
    _from_games: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _ks: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole("starting_rating", self.starting_rating)
        retention(self.retention_days)
        tiers = tuple(_checked(self.k_tiers, entry) for entry in range(len(self.k_tiers)))
        if not tiers:
            raise SettingError("k_tiers", "must have at least one entry { from_games, k }; leave it out for K 16")
        store(
            self,
            divisor=positive("divisor", self.divisor),
            k_tiers=tiers,
            _from_games=tuple(tier.from_games for tier in tiers),
            _ks=tuple(tier.k for tier in tiers),
        )

    @property
    def pr_rule(self) -> None:
        """None: PRs change nothing here."""

    def exclusion(self, match: MatchFinished) -> str | None:
        """Return `bot` or `same-network`, or None; accounts and anonymous ids are rated alike."""
        reason = _EXCLUDED_MODES[match.mode]
        if reason is None and (match.winner.kind == "bot" or match.loser.kind == "bot"):
            return "bot"
        if reason is None and match.same_network:
            return "same-network"
        return reason

    def check(self, match: MatchFinished) -> None:
        """Do nothing: there is one formula."""

    def k_for(self, rated_games: int) -> float:
        """Return K of a player with that many rated games before this one (>= 0)."""
        return self._ks[bisect_right(self._from_games, rated_games) - 1]

    def rate(self, match: MatchFinished, winner: Standing, loser: Standing, *, halved: bool = False) -> Rated:  # noqa: ARG002
        """Return both results of a game, each rounded on its own; nothing is ever halved here."""
        winner_expected = expectation(winner.rating, loser.rating, self.divisor)
        loser_expected = expectation(loser.rating, winner.rating, self.divisor)
        winner_k = self.k_for(winner.rated_games)
        loser_k = self.k_for(loser.rated_games)
        return Rated(
            Side(
                winner.rating + round_half_away(change(winner_k, 1.0, winner_expected)),
                {"expected": winner_expected, "k": winner_k, "divisor": self.divisor},
            ),
            Side(
                loser.rating + round_half_away(change(loser_k, 0.0, loser_expected)),
                {"expected": loser_expected, "k": loser_k, "divisor": self.divisor},
            ),
        )

    def experience_gain(self, match: MatchFinished) -> int:  # noqa: ARG002
        """Return 0: nothing here goes by experience."""
        return 0

    def on_leaderboard(self, rated_games: int, experience: int) -> bool:  # noqa: ARG002
        """Return whether the player has a rated game."""
        return rated_games > 0


def _checked(tiers: tuple[KTier, ...], entry: int) -> KTier:
    from_games = whole("k_tiers", tiers[entry].from_games, least=0, entry=entry)
    k = positive("k_tiers", tiers[entry].k, entry=entry)
    if entry == 0 and from_games != 0:
        raise SettingError("k_tiers", f"must begin with from_games = 0, not {from_games}", entry)
    if entry and from_games <= tiers[entry - 1].from_games:
        raise SettingError("k_tiers", f"must ascend: {from_games} games do not come after the tier above it", entry)
    return KTier(from_games, k)
