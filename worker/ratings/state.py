"""What a batch of one pool is decided on: what was loaded, and over it what earlier events of the batch decided."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.ratings.outcome import Outcome
from worker.ratings.rows import Link, MatchRecord, Parked, Prize, Row

WindowQuery = tuple[str, int, str]
"""(player_id, finished_at_ms, match_id): the rated games of that player before that match."""
PrizeKey = tuple[str, str]
"""(tournament_id, player_id)."""


@dataclass(slots=True)
class State:
    """One pool at one instant, plus the outcomes of this batch so far.

    `games` answers each window query as loaded; events before `horizon_ms` are too late. `links` has each under both
    its ids.
    """

    rows: dict[str, Row]
    records: dict[str, MatchRecord]
    parked: dict[str, Parked]
    games: Mapping[WindowQuery, int]
    horizon_ms: int = 0
    prizes: dict[PrizeKey, Prize] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    _added: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

    def account_of(self, player_id: str) -> str:
        """Return whose rating a match of this id moves: an anonymous id that was claimed counts for its account."""
        link = self.links.get(player_id)
        return player_id if link is None else link.account_id

    def games_in_window(self, player_id: str, finished_at_ms: int, match_id: str, window_ms: int) -> int:
        """Count rated games in [finished_at - window, finished_at), those at the same instant by match_id's bytes."""
        loaded = self.games[player_id, finished_at_ms, match_id]
        added = self._added.get(player_id)
        if not added:
            return loaded
        before = bisect_left(added, (finished_at_ms, match_id.encode()))
        return loaded + before - bisect_left(added, (finished_at_ms - window_ms, b""))

    def apply(self, outcome: Outcome) -> None:
        """Make later events of the batch see this outcome."""
        for player_id, row, _ in outcome.rows:
            self.rows[player_id] = row
        if outcome.record is not None:
            self.records[outcome.match_id] = outcome.record.record
        if outcome.parked is not None:
            if outcome.parked.parked is None:
                self.parked.pop(outcome.match_id, None)
            else:
                self.parked[outcome.match_id] = outcome.parked.parked
        if outcome.prize is not None:
            self.prizes[outcome.prize.tournament_id, outcome.prize.player_id] = outcome.prize
        if outcome.link is not None:
            self.links[outcome.link.anonymous_id] = self.links[outcome.link.account_id] = outcome.link
        for entry in outcome.windows:
            insort(self._added.setdefault(entry.player_id, []), (entry.finished_at_ms, entry.match_id.encode()))
