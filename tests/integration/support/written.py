"""Events as publishers write them."""

from typing import Any

import orjson
from msgspec.structs import replace

from tests.ratings.ladder import SECOND, instant_of, topic_of
from worker.cli.simulation import Kind, Published
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import format_instant
from worker.rules.match import MatchFinished, Player


def written(event: Event, timestamp_ms: int | None = None) -> Published:
    """Return the event as a record, written a second after its instant unless `timestamp_ms` says otherwise."""
    about = getattr(event, "match_id", None) or getattr(event, "tournament_id", None) or event.anonymous_id
    at_ms = instant_of(event) + SECOND if timestamp_ms is None else timestamp_ms
    return Published(topic_of(event), about.encode(), orjson.dumps(_fields(event)), at_ms, (), Kind.MATCH)


def moved(event: Event, by_ms: int) -> Event:
    """Return the event at another instant."""
    field = next(name for name in event.__struct_fields__ if name.endswith("_at_ms"))
    return replace(event, **{field: getattr(event, field) + by_ms})


def _fields(event: Event) -> dict[str, Any]:
    if isinstance(event, MatchFinished):
        return _match(event)
    if isinstance(event, MatchAnalyzed):
        players = [{"player_id": player.id, "pr": player.pr} for player in event.players]
        at = format_instant(event.analyzed_at_ms)
        return {**_plain(event, "pool", "match_id", "revision"), "players": players, "analyzed_at": at}
    if isinstance(event, TournamentPrizeAwarded):
        named = _plain(event, "pool", "tournament_id", "player_id", "place", "amount")
        return {**named, "awarded_at": format_instant(event.awarded_at_ms)}
    assert isinstance(event, IdentityLinked)
    return {**_plain(event, "pool", "anonymous_id", "account_id"), "linked_at": format_instant(event.linked_at_ms)}


def _match(match: MatchFinished) -> dict[str, Any]:
    given = _plain(
        match, "pool", "match_id", "mode", "cube", "length", "elo_enabled", "same_network", "end_reason", "win_type"
    )
    return {
        **{name: value for name, value in given.items() if value is not None},
        "winner": _player(match.winner),
        "loser": _player(match.loser),
        "finished_at": format_instant(match.finished_at_ms),
    }


def _player(player: Player) -> dict[str, Any]:
    return {"player_id": player.id, "kind": player.kind, "pr": player.pr}


def _plain(event: Event, *names: str) -> dict[str, Any]:
    return {name: getattr(event, name) for name in names}
