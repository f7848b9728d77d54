"""What the tables keep: a player's row, a match's record, the analyses that wait for their match."""

from collections.abc import Mapping

from msgspec import Struct

from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import AnalyzedPlayer
from worker.rules.match import MatchFinished
from worker.rules.ruleset import Rating

Prs = tuple[float | None, float | None]
"""PRs of a match's winner and of its loser, None where the analysis has no result."""


class Row(Struct, frozen=True, gc=False):
    """A player in one pool.

    `seq` numbers the player's changes from 1 and is the row's version. `experience` is in match points,
    `newest_finished_at_ms` the latest end of a match applied so far, `last_source` the cause that wrote the row.
    `retired` is an anonymous id whose matches count for an account from now on.
    """

    seq: int
    rating: Rating
    rated_games: int
    experience: int
    newest_finished_at_ms: int | None
    last_source: str
    retired: bool = False


def new_row(starting_rating: Rating) -> Row:
    """Return what a player begins with, before the first cause that creates the row."""
    return Row(0, starting_rating, 0, 0, None, "")


class RecordedSide(Struct, frozen=True, gc=False, array_like=True):
    """One player's part of a rated match.

    `before` is the rating before the match, `change` what the match itself did, `standing` what the match has moved
    this player by in all (its change and every analysis since), `terms` the details as published. It was `late` where a
    match that ended later had been applied to this player before.
    """

    player_id: str
    before: Rating
    change: Rating
    standing: Rating
    terms: Mapping[str, object]
    late: bool = False


class Exchanged(Struct, frozen=True, gc=False, array_like=True):
    """A player's rating before and after an analysis was applied, and by how many points a floor kept it up."""

    before: Rating
    after: Rating
    floored_by: int


class Exchange(Struct, frozen=True, gc=False, array_like=True):
    """What one analysis did to a match that had been rated before. `prs` are the match winner's and the loser's."""

    revision: int
    halved: bool
    prs: Prs
    analyzed_at_ms: int
    winner: Exchanged
    loser: Exchanged


class RatedRecord(Struct, frozen=True, gc=False, array_like=True):
    """What a rated match did. `raw_change` is kept where the ruleset has a PR rule.

    `revision` is the analysis that settled it: 0 came inside the match, None while the first is awaited (or where the
    ruleset has no PR rule). No analysis published after `settles_by_ms` counts.
    `prs` are the PRs that settled it when it came, None where none did; `exchanges` are the newest analyses since,
    oldest first, and `exchanges_left_out` counts those before them.
    """

    winner: RecordedSide
    loser: RecordedSide
    raw_change: float | None
    revision: int | None
    halved: bool
    settles_by_ms: int
    prs: Prs | None = None
    exchanges: tuple[Exchange, ...] = ()
    exchanges_left_out: int = 0


class MatchRecord(Struct, frozen=True, gc=False, array_like=True):
    """A match that was answered, as it was sent: `rated`, or excluded with a reason.

    `position` is 0 until the tables give one, and stays 0 where the match is excluded.
    """

    content: MatchFinished
    source: Source
    excluded_reason: str | None
    rated: RatedRecord | None
    position: int = 0


class ParkedAnalysis(Struct, frozen=True, gc=False, array_like=True):
    """An analysis that came before its match, with the delivery it came in."""

    players: tuple[AnalyzedPlayer, AnalyzedPlayer]
    revision: int
    analyzed_at_ms: int
    delivery: Delivery

    def pair(self) -> frozenset[str]:
        """Return the two ids named, in no order."""
        return frozenset(player.id for player in self.players)


class Parked(Struct, frozen=True, gc=False):
    """All analyses that wait for one match; `version` names the delivery parked last, so none ever comes twice."""

    version: str
    analyses: tuple[ParkedAnalysis, ...]


class WindowEntry(Struct, frozen=True, gc=False):
    """A rated game in a player's sliding window."""

    player_id: str
    finished_at_ms: int
    match_id: str


class Prize(Struct, frozen=True, gc=False, array_like=True):
    """A prize that was paid, once for each tournament and player. `before` is the rating that it was added to."""

    tournament_id: str
    player_id: str
    place: int
    amount: int
    awarded_at_ms: int
    source: Source
    before: Rating
    position: int = 0


class Link(Struct, frozen=True, gc=False, array_like=True):
    """An anonymous id claimed by an account; the tables keep it under both ids.

    `took_over` tells whether the account had no rated games and took `rating` and `rated_games`, the anonymous id's at
    that moment.
    """

    anonymous_id: str
    account_id: str
    linked_at_ms: int
    source: Source
    took_over: bool
    rating: Rating
    rated_games: int
    position: int = 0
