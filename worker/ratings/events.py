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


class TournamentPrizeAwarded(Struct, frozen=True, gc=False):
    """One `tournament-prize-awarded` event: `amount` rating points for a `place`, 1 being the first.

    `awarded_at_ms` is UTC ms.
    """

    pool: str
    tournament_id: str
    player_id: str
    place: int
    amount: int
    awarded_at_ms: int


class IdentityLinked(Struct, frozen=True, gc=False):
    """One `identity-linked` event: an account claims an anonymous id. `linked_at_ms` is UTC ms."""

    pool: str
    anonymous_id: str
    account_id: str
    linked_at_ms: int


Event = MatchFinished | MatchAnalyzed | TournamentPrizeAwarded | IdentityLinked
