"""What a batch of one pool is decided on: what was loaded, and over it what earlier events of the batch decided."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.ratings.outcome import Outcome
from worker.ratings.rows import MatchRecord, Parked, Row

WindowQuery = tuple[str, int, str]
"""(player_id, finished_at_ms, match_id): the rated games of that player before that match."""


@dataclass(slots=True)
class State:
    """One pool at one instant, plus the outcomes of this batch so far.

    `games` answers each window query as loaded; events before `horizon_ms` are too late.
    """

    rows: dict[str, Row]
    records: dict[str, MatchRecord]
    parked: dict[str, Parked]
    games: Mapping[WindowQuery, int]
    horizon_ms: int = 0
    _added: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

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
        for entry in outcome.windows:
            insort(self._added.setdefault(entry.player_id, []), (entry.finished_at_ms, entry.match_id.encode()))
