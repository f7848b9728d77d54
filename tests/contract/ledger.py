"""A pool's players as a model of the rules keeps them, and what has to be published of each change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from worker.ratings.events import Event
from worker.ratings.instants import format_instant
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason


class Sent(NamedTuple):
    """An event, and the timestamp of the record it came in."""

    event: Any
    timestamp_ms: int


class Answer(NamedTuple):
    """What an event has to do: events of `rating-changed` but for their position, and the reasons of dead letters."""

    kind: Kind
    changes: Sequence[dict[str, Any]] = ()
    reasons: Sequence[Reason] = ()


def refused(reason: Reason) -> Answer:
    return Answer(Kind.REFUSED, reasons=[reason])


@dataclass
class Standing:
    """Where a player stands."""

    rating: int
    seq: int = 0
    games: int = 0
    newest_ms: int | None = None
    retired: bool = False


@dataclass
class Ledger:
    """Players by id, and the content of every match that was answered by match_id."""

    pool: str
    start: int
    horizon_ms: int = 0
    players: dict[str, Standing] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    records_kept_ms: int = 0

    def forgets(self, instant_ms: int, kept_ms: int = 0) -> bool:
        """Return whether what is of that instant may be pruned."""
        return instant_ms < self.horizon_ms - kept_ms

    def answer(self, sent: Sent) -> Answer:
        """Apply one event, and return what it has to do."""
        raise NotImplementedError

    def exclude(self, event: Event) -> None:
        """Take an excluded match as known."""
        self.known[event.match_id] = self.content(event)

    def content(self, match: Any) -> tuple[Any, ...]:
        """Return what makes two events the same match, as far as the tests vary it."""
        return (match.winner.id, match.loser.id, match.finished_at_ms, match.mode, match.cube, match.length)

    def known_already(self, match: Any) -> Answer | None:
        """Return what a match_id does that is known."""
        if match.match_id not in self.known or self.forgets(self.known[match.match_id][2], self.records_kept_ms):
            return None
        same = self.known[match.match_id] == self.content(match)
        return Answer(Kind.DUPLICATE) if same else refused(Reason.CONFLICT)

    def player(self, player_id: str) -> Standing:
        return self.players.setdefault(player_id, Standing(self.start))

    def move(self, player_id: str, change: int, cause: dict[str, Any], at_ms: int, **more: Any) -> dict[str, Any]:
        """Change a rating, and return the event that tells of it."""
        player = self.player(player_id)
        before = player.rating
        player.rating, player.seq = before + change, player.seq + 1
        about = cause.get("match_id") or cause.get("tournament_id") or cause["anonymous_id"]
        revision = f"@{cause['revision']}" if "revision" in cause else ""
        return {
            "event_id": f"{self.pool}/{cause['type']}/{about}{revision}/{player_id}",
            "pool": self.pool,
            "player_id": player_id,
            "seq": player.seq,
            "cause": cause,
            "before": before,
            "change": change,
            "after": player.rating,
            "final": True,
            "late": False,
            "occurred_at": format_instant(at_ms),
            "details": {},
            "rated_games": player.games,
            **more,
        }

    def played(self, player_id: str, change: int, match: Any, details: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Change a rating by a rated match, and return the event that tells of it."""
        player = self.player(player_id)
        late = player.newest_ms is not None and match.finished_at_ms < player.newest_ms
        player.games += 1
        player.newest_ms = max(match.finished_at_ms, player.newest_ms or match.finished_at_ms)
        cause = {"type": "match-finished", "match_id": match.match_id}
        return self.move(player_id, change, cause, match.finished_at_ms, late=late, details=details, **more)

    def rows(self) -> dict[str, tuple[Any, ...]]:
        return {
            name: (one.seq, one.rating, one.games, one.newest_ms, one.retired) for name, one in self.players.items()
        }

    def shown(self) -> list[tuple[str, int]]:
        """Return the leaderboard."""
        on_it = [(name, one.rating) for name, one in self.players.items() if one.games and not one.retired]
        return sorted(on_it, key=lambda place: (-place[1], place[0].encode()))


def half_away(value: float) -> int:
    """Round as most published texts mean it."""
    return int(abs(value) + 0.5) * (1 if value > 0 else -1)
