"""The inputs beside `match-finished`, as values with defaults filled in."""

from msgspec import Struct

from worker.rules.match import MatchFinished


class AnalyzedPlayer(Struct, frozen=True, gc=False, array_like=True):
    """A player of an analysed match; `pr` is None where the analysis ended without a result."""

    id: str
    pr: float | None


class MatchAnalyzed(Struct, frozen=True, gc=False):
    """One `match-analyzed` event: the PRs of a match's two players, in any order. `analyzed_at_ms` is UTC ms."""

    pool: str
    match_id: str
    players: tuple[AnalyzedPlayer, AnalyzedPlayer]
    analyzed_at_ms: int
    revision: int = 1


Event = MatchFinished | MatchAnalyzed
