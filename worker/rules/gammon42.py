"""Gammon42: Elo with a cube coefficient, in three published versions. Source: Gammon42 rating article."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, NamedTuple

from worker.rules.bounds import positive, retention, store, whole
from worker.rules.errors import SettingError
from worker.rules.match import MatchFinished
from worker.rules.rounding import power_of_ten, round_half_away
from worker.rules.ruleset import Rated, Side, Standing, UnpublishedFormulaError

FIRST_PUBLISHED = (1, 0, 5)
_WIDER_SCALE = (1, 2, 0)
_WIDEST_SCALE_AND_VOLUME = (1, 3, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXCLUDED_MODES = {"ranked": None, "boosted": "boosted", "casual": "boosted", "tournament": "tournament"}


class FormulaStart(NamedTuple):
    """From which instant (UTC milliseconds since 1970, inclusive) a formula version, such as "1.3.1", applies."""

    version: str
    from_ms: int


class Formula(NamedTuple):
    """What one version says: the divisor of the rating gap, and whether K falls with a player's volume."""

    version: str
    divisor: float
    k_by_volume: bool


def expectation(winner: float, loser: float, divisor: float) -> float:
    """Return the winner's expected score, 0..1: 1 / (1 + 10^((loser - winner) / divisor))."""
    return 1.0 / (1.0 + power_of_ten((loser - winner) / divisor))


def coefficient(cube: int, doublings: float = 6) -> float:
    """Return 1 + log2(cube) / doublings for a cube of 1..64: 1 for an undoubled game, 2 for a cube of 64."""
    return 1.0 + math.log2(cube) / doublings


def changes(winner_k: float, loser_k: float, expected: float, cube_coefficient: float) -> tuple[float, float]:
    """Return the winner's and the loser's change before rounding, each with their own K, from the winner's chances."""
    missing = 1.0 - expected
    return winner_k * missing * cube_coefficient, loser_k * (0.0 - missing) * cube_coefficient


def version_number(version: str) -> tuple[int, ...]:
    """Return "1.10.0" as (1, 10, 0), which compares as versions do. Raises ValueError for what is not numbers."""
    return tuple(map(int, version.split(".")))


@dataclass(frozen=True, slots=True)
class Gammon42:
    """The Gammon42 rating with one pool's settings; `divisor_*` apply from that version on. Raises SettingError."""

    name: ClassVar[str] = "gammon42"
    window_ms: ClassVar[int | None] = 168 * 3_600_000
    has_experience: ClassVar[bool] = False
    has_prizes: ClassVar[bool] = True
    has_links: ClassVar[bool] = False

    starting_rating: int = 1500
    retention_days: int = 30
    k: float = 32
    heavy_k: float = 16
    heavy_games: int = 50
    divisor_1_0_5: float = 400
    divisor_1_2_0: float = 800
    divisor_1_3_1: float = 1200
    cube_doublings: float = 6
    versions: tuple[FormulaStart, ...] = (
        FormulaStart("1.0.5", 1_735_689_600_000),
        FormulaStart("1.2.0", 1_782_864_000_000),
        FormulaStart("1.3.1", 1_790_812_800_000),
    )
    _formulas: tuple[Formula, ...] = field(init=False, repr=False, compare=False)
    _numbers: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _coefficients: dict[int | None, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole("starting_rating", self.starting_rating)
        retention(self.retention_days)
        whole("heavy_games", self.heavy_games, least=1)
        for setting in ("k", "heavy_k", "divisor_1_0_5", "divisor_1_2_0", "divisor_1_3_1", "cube_doublings"):
            store(self, **{setting: positive(setting, getattr(self, setting))})
        numbers = _ascending(self.versions)
        store(
            self,
            _numbers=numbers,
            _starts=tuple(start.from_ms for start in self.versions),
            _formulas=tuple(self._published(number) for number in numbers),
            _coefficients={2**power: coefficient(2**power, self.cube_doublings) for power in range(7)},
        )

    def _published(self, number: tuple[int, ...]) -> Formula:
        version = ".".join(map(str, number))
        if number >= _WIDEST_SCALE_AND_VOLUME:
            return Formula(version, self.divisor_1_3_1, k_by_volume=True)
        divisor = self.divisor_1_2_0 if number >= _WIDER_SCALE else self.divisor_1_0_5
        return Formula(version, divisor, k_by_volume=False)

    @property
    def pr_rule(self) -> None:
        """None: PRs change nothing here."""

    def exclusion(self, match: MatchFinished) -> str | None:
        """Return `boosted`, `tournament` or `computer`, or None for a ranked game of two people."""
        reason = _EXCLUDED_MODES[match.mode]
        if reason is None and (match.winner.kind == "bot" or match.loser.kind == "bot"):
            return "computer"
        return reason

    def formula(self, match: MatchFinished) -> Formula:
        """Return the formula of the game's explicit version, or of its date. Raises UnpublishedFormulaError."""
        explicit = match.formula_version
        if explicit is None:
            place = bisect_right(self._starts, match.finished_at_ms)
            if place == 0:
                raise UnpublishedFormulaError(
                    f"/finished_at: lies before {_instant(self._starts[0])}, where {self._formulas[0].version}, the "
                    "first formula version of this pool, begins; to have it rated all the same, send formula_version"
                )
            return self._formulas[place - 1]
        number = version_number(explicit)
        if number < FIRST_PUBLISHED:
            raise UnpublishedFormulaError(
                f"/formula_version: {explicit} is before 1.0.5, and how games were rated then is not published; "
                "send 1.0.5 or later"
            )
        place = bisect_right(self._numbers, number)
        if place == 0:
            raise UnpublishedFormulaError(
                f"/formula_version: {explicit} is before {self._formulas[0].version}, the first version that this pool "
                "knows; send that or a later one"
            )
        return self._formulas[place - 1]

    def check(self, match: MatchFinished) -> None:
        """Raise UnpublishedFormulaError if the game is from before the first published or configured version."""
        self.formula(match)

    def k_for(self, games_in_window: int) -> float:
        """Return K by volume: `heavy_k` from `heavy_games` ranked games in the 168 hours before this one, else `k`."""
        return self.heavy_k if games_in_window >= self.heavy_games else self.k

    def rate(self, match: MatchFinished, winner: Standing, loser: Standing, *, halved: bool = False) -> Rated:  # noqa: ARG002
        """Return both results of a ranked game with a cube; nothing is ever halved here."""
        version, divisor, by_volume = self.formula(match)
        cube = match.cube
        cube_coefficient = self._coefficients[cube]
        expected = expectation(winner.rating, loser.rating, divisor)
        winner_k = self.k_for(winner.games_in_window) if by_volume else self.k
        loser_k = self.k_for(loser.games_in_window) if by_volume else self.k
        won, lost = changes(winner_k, loser_k, expected, cube_coefficient)
        return Rated(
            Side(
                winner.rating + round_half_away(won),
                {
                    "expected": expected,
                    "k": winner_k,
                    "divisor": divisor,
                    "cube": cube,
                    "coefficient": cube_coefficient,
                    "formula_version": version,
                    "games_in_window": winner.games_in_window,
                },
            ),
            Side(
                loser.rating + round_half_away(lost),
                {
                    "expected": 1.0 - expected,
                    "k": loser_k,
                    "divisor": divisor,
                    "cube": cube,
                    "coefficient": cube_coefficient,
                    "formula_version": version,
                    "games_in_window": loser.games_in_window,
                },
            ),
        )

    def experience_gain(self, match: MatchFinished) -> int:  # noqa: ARG002
        """Return 0: nothing here goes by experience."""
        return 0

    def on_leaderboard(self, rated_games: int, experience: int) -> bool:  # noqa: ARG002
        """Return whether the player has a rated game."""
        return rated_games > 0


def _ascending(versions: tuple[FormulaStart, ...]) -> tuple[tuple[int, ...], ...]:
    if not versions:
        raise SettingError("versions", "must have at least one entry { version, from }; leave it out for the defaults")
    numbers: list[tuple[int, ...]] = []
    for entry, start in enumerate(versions):
        number = _three_numbers(start.version, entry)
        whole("versions", start.from_ms, least=-(2**50), most=2**50, entry=entry)
        if number < FIRST_PUBLISHED:
            raise SettingError(
                "versions", f"is {start.version}, but nothing before 1.0.5 is published; remove it", entry
            )
        if entry and number <= numbers[-1]:
            raise SettingError("versions", f"must ascend: {start.version} is not after the one above it", entry)
        if entry and start.from_ms <= versions[entry - 1].from_ms:
            raise SettingError("versions", f"must ascend: {start.version} does not begin after the one above it", entry)
        numbers.append(number)
    return tuple(numbers)


def _three_numbers(version: object, entry: int) -> tuple[int, ...]:
    parts = version.split(".") if isinstance(version, str) else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts):
        raise SettingError("versions", f'must have a version of three numbers, such as "1.3.1", not {version!r}', entry)
    return version_number(".".join(parts))


def _instant(at_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
