"""Whether what was published is a legal history of what was sent, told from the outside alone."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import orjson

from tests.integration.writing.traffic import Log
from tests.ratings.ladder import Ladder
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import format_instant
from worker.ratings.rows import Link
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
    causes: defaultdict[int, list[Any]] = defaultdict(list)
    for event in changes:
        causes[event["position"]].append(event["cause"])
    assert sorted(causes) == list(range(1, len(causes) + 1))
    for told in causes.values():
        assert told == [told[0]] * (1 if told[0]["type"] == "tournament-prize-awarded" else 2)
    return newest


async def check_tables(tables: PoolTables, newest: dict[str, Any], log: Log) -> None:
    """See that rows and leaderboard are where the published chains end, and that every match has its answer."""
    loaded = await tables.load(Wanted(list(newest), list(_match_ids(log)), prizes=[_key(one) for one in _prizes(log)]))
    assert {name: (row.seq, row.rating, row.rated_games) for name, row in loaded.rows.items()} == {
        name: (event["seq"], event["after"], event["rated_games"]) for name, event in newest.items()
    }
    retired = {name for name, event in newest.items() if "retired" in event}
    assert {name for name, row in loaded.rows.items() if row.retired} == retired
    assert {link.anonymous_id: link.account_id for link in loaded.links.values()} == {
        name: newest[name]["linked_to"] for name in retired
    }
    assert loaded.prizes.keys() == {_key(one) for one in _prizes(log)}
    on_it = [name for name, event in newest.items() if event["rated_games"] and name not in retired]
    ordered = sorted(on_it, key=lambda name: (-newest[name]["after"], name.encode()))
    page = await tables.leaderboard(1, 1000)
    assert page.players == len(ordered)
    assert [place.player_id for place in page.places] == ordered
    matches = [event for event in _events(log) if isinstance(event, MatchFinished)]
    answered = {event.match_id for event in matches if not _of_one_player(event, loaded.links)}
    assert loaded.records.keys() - {event.match_id for event in matches} == answered - loaded.records.keys() == set()
    assert loaded.parked == {}
    assert await tables.outbox_size() == 0
    markers = await tables.markers()
    assert {name: markers[name].applied for name in log} == {name: len(records) for name, records in log.items()}


async def check_replay(tables: PoolTables, changes: list[dict[str, Any]], log: Log, pool: str) -> None:
    """Replay the causes by position through the rules: exactly the same events must come out, to the last byte."""
    records = (await tables.load(Wanted((), list(_match_ids(log))))).records
    analyses: defaultdict[tuple[str, int], list[MatchAnalyzed]] = defaultdict(list)
    for event in _events(log):
        if isinstance(event, MatchAnalyzed):
            analyses[event.match_id, event.revision].append(event)
    others = {
        _fact(event): event for event in _events(log) if isinstance(event, TournamentPrizeAwarded | IdentityLinked)
    }
    ladder = Ladder(pool)
    for event in {event["position"]: event for event in sorted(changes, key=lambda event: event["position"])}.values():
        cause, revision = event["cause"], event["details"].get("revision")
        if "match_id" not in cause:
            ladder.send(others[_told(event)])
            continue
        if cause["type"] == "match-analyzed":
            of_this = analyses[cause["match_id"], revision]
            ladder.send(next(one for one in of_this if format_instant(one.analyzed_at_ms) == event["occurred_at"]))
            continue
        source = records[cause["match_id"]].source
        match = log[source.topic, source.partition][source.offset].event
        if revision:
            ladder.send(_that_settled(match, analyses[cause["match_id"], revision]))
        ladder.send(match)
    by_position = sorted(changes, key=lambda event: (event["position"], _comes_second(event)))
    assert ladder.values() == by_position


def _that_settled(match: MatchFinished, analyses: list[MatchAnalyzed]) -> MatchAnalyzed:
    players = {match.winner.id, match.loser.id}
    return next(one for one in analyses if {player.id for player in one.players} == players)


def _comes_second(change: dict[str, Any]) -> bool:
    return change["details"].get("result") == "loss" or "retired" in change


def _fact(event: TournamentPrizeAwarded | IdentityLinked) -> tuple[Any, ...]:
    if isinstance(event, IdentityLinked):
        return (event.anonymous_id, event.account_id, format_instant(event.linked_at_ms))
    return (*_key(event), event.place, event.amount, format_instant(event.awarded_at_ms))


def _told(change: dict[str, Any]) -> tuple[Any, ...]:
    """Return which prize or link an event is about, as `_fact` does."""
    cause = change["cause"]
    if cause["type"] == "identity-linked":
        return (cause["anonymous_id"], cause["account_id"], change["occurred_at"])
    who = cause["tournament_id"], change["player_id"]
    return (*who, cause["place"], change["change"], change["occurred_at"])


def _of_one_player(match: MatchFinished, links: Mapping[str, Link]) -> bool:
    """Tell whether the two are linked to each other, so that the match may have been refused."""
    link = links.get(match.winner.id)
    return link is not None and link == links.get(match.loser.id)


def _key(prize: TournamentPrizeAwarded) -> tuple[str, str]:
    return prize.tournament_id, prize.player_id


def _prizes(log: Log) -> list[TournamentPrizeAwarded]:
    return [event for event in _events(log) if isinstance(event, TournamentPrizeAwarded)]


def _events(log: Log) -> list[Event]:
    return [decoded.event for records in log.values() for decoded in records if decoded.event is not None]


def _match_ids(log: Log) -> dict[str, None]:
    about_matches = (event for event in _events(log) if isinstance(event, MatchFinished | MatchAnalyzed))
    return dict.fromkeys(event.match_id for event in about_matches)
