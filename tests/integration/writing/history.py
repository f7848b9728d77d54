"""Whether what was published is a legal history of what was sent, told from the outside alone."""

from collections import defaultdict
from typing import Any

import orjson

from tests.integration.writing.traffic import Log
from tests.ratings.ladder import Ladder
from worker.ratings.events import Event, MatchAnalyzed
from worker.ratings.instants import format_instant
from worker.rules.match import MatchFinished
from worker.tables.tables import PoolTables, Wanted


def first_occurrences(published: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    """Return the changes as a consumer takes them that drops every seq it has seen; they must come without a gap."""
    last: defaultdict[bytes, int] = defaultdict(int)
    bytes_of: dict[str, bytes] = {}
    taken = []
    for key, value in published:
        event = orjson.loads(value)
        assert key == f"{event['pool']}:{event['player_id']}".encode()
        assert bytes_of.setdefault(event["event_id"], value) == value, "the same event with other bytes"
        if event["seq"] <= last[key]:
            continue
        assert event["seq"] == last[key] + 1, f"{key!r}: seq {event['seq']} came right after {last[key]}"
        last[key] = event["seq"]
        taken.append(event)
    assert len(taken) == len(bytes_of)
    return taken


def check_chains(changes: list[dict[str, Any]], starting_rating: float) -> dict[str, Any]:
    """Return the newest event of each player, after following every chain from the start."""
    newest: dict[str, Any] = {}
    for event in changes:
        before = newest[event["player_id"]]["after"] if event["player_id"] in newest else starting_rating
        assert event["before"] == before, event["event_id"]
        assert event["before"] + event["change"] == event["after"]
        newest[event["player_id"]] = event
    positions = [event["position"] for event in changes]
    assert sorted(positions) == [position for position in range(1, len(positions) // 2 + 1) for _ in (0, 1)]
    return newest


async def check_tables(tables: PoolTables, newest: dict[str, Any], log: Log) -> None:
    """See that rows and leaderboard are where the published chains end, and that every match has its answer."""
    loaded = await tables.load(Wanted(list(newest), list(_match_ids(log))))
    assert {name: (row.seq, row.rating, row.rated_games) for name, row in loaded.rows.items()} == {
        name: (event["seq"], event["after"], event["rated_games"]) for name, event in newest.items()
    }
    ordered = sorted(newest, key=lambda name: (-newest[name]["after"], name.encode()))
    page = await tables.leaderboard(1, len(newest))
    assert page.players == len(newest)
    assert [place.player_id for place in page.places] == ordered
    assert loaded.records.keys() == {
        event.event.match_id for records in log.values() for event in records if isinstance(event.event, MatchFinished)
    }
    assert loaded.parked == {}
    assert await tables.outbox_size() == 0
    markers = await tables.markers()
    assert {name: marker.applied for name, marker in markers.items()} == {
        name: len(records) for name, records in log.items()
    }


async def check_replay(tables: PoolTables, changes: list[dict[str, Any]], log: Log, pool: str) -> None:
    """Replay the causes by position through the rules: exactly the same events must come out, to the last byte."""
    records = (await tables.load(Wanted((), list(_match_ids(log))))).records
    analyses: defaultdict[tuple[str, int], list[MatchAnalyzed]] = defaultdict(list)
    for event in _events(log):
        if isinstance(event, MatchAnalyzed):
            analyses[event.match_id, event.revision].append(event)
    ladder = Ladder(pool)
    for event in sorted(changes, key=lambda event: event["position"])[::2]:
        cause, revision = event["cause"], event["details"].get("revision")
        if cause["type"] == "match-analyzed":
            of_this = analyses[cause["match_id"], revision]
            ladder.send(next(one for one in of_this if format_instant(one.analyzed_at_ms) == event["occurred_at"]))
            continue
        source = records[cause["match_id"]].source
        match = log[source.topic, source.partition][source.offset].event
        if revision:
            ladder.send(_that_settled(match, analyses[cause["match_id"], revision]))
        ladder.send(match)
    by_position = sorted(changes, key=lambda event: (event["position"], event["details"]["result"] == "loss"))
    assert ladder.values() == by_position


def _that_settled(match: MatchFinished, analyses: list[MatchAnalyzed]) -> MatchAnalyzed:
    players = {match.winner.id, match.loser.id}
    return next(one for one in analyses if {player.id for player in one.players} == players)


def _events(log: Log) -> list[Event]:
    return [decoded.event for records in log.values() for decoded in records if decoded.event is not None]


def _match_ids(log: Log) -> dict[str, None]:
    return dict.fromkeys(event.match_id for event in _events(log))
