"""Everything that must hold of a site's topics and tables once all that was published is answered."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from aiokafka import ConsumerRecord

from tests.integration.support.publishing import Sent
from tests.integration.support.reading import pools, read_topic
from tests.integration.support.replay import Change, Replayed, exclusion, replay
from tests.integration.support.site import INPUTS, Site
from tests.integration.support.stored import Held, in_memory, in_redis
from worker.cli.simulation import Kind
from worker.ratings.delivery import Source
from worker.ratings.wire import DLT_HEADERS, Message, event_id_part
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.stream.decode import Decoded, Decoder

RATED = (Kind.MATCH, Kind.LATE)
REFUSED = (Kind.CONFLICT, Kind.INVALID)
ANALYSES = (Kind.ANALYSIS, Kind.EARLY_ANALYSIS, Kind.REVISION)


class Answers(NamedTuple):
    """All outputs, as read: partition by partition, each in its order."""

    changes: list[Change]
    excluded: list[Change]
    letters: list[ConsumerRecord]

    @property
    def distinct(self) -> dict[str, Change]:
        """The first occurrence of each change, by event_id."""
        found: dict[str, Change] = {}
        for change in self.changes:
            found.setdefault(change.value["event_id"], change)
        return found

    @property
    def repeats(self) -> int:
        """How many records of rating-changed repeat another."""
        return len(self.changes) - len(self.distinct)


def audit(site: Site, sent: Sequence[Sent], *, first_comes_first: bool = True) -> Answers:
    """Check all that is promised of any run, whatever happened in it, and return what was published.

    Without `first_comes_first`, equal records stand in several partitions, so that which of them was applied, and
    which repeats it, is open. Records that contradict others must not be among them.
    """
    answers = read_answers(site)
    repeats_are_identical(answers)
    streams_are_whole(answers)
    positions_are_whole(answers)
    everything_is_answered(sent, answers)
    letters_are_whole(sent, answers.letters, each=first_comes_first)
    analyses_are_final(sent, answers)
    equals_the_replay(site, sent, answers)
    return answers


def read_answers(site: Site) -> Answers:
    return asyncio.run(_read_answers(site))


async def _read_answers(site: Site) -> Answers:
    changes, excluded, *letters = [
        await read_topic(site, name) for name in ("rating-changed", "match-excluded", *(f"{x}.dlt" for x in INPUTS))
    ]
    return Answers(_parsed(changes), _parsed(excluded), [record for records in letters for record in records])


def _parsed(records: Iterable[ConsumerRecord]) -> list[Change]:
    return [Change(record, orjson.loads(record.value)) for record in records]


def repeats_are_identical(answers: Answers) -> None:
    """Every repetition of an event has the same key, value and headers."""
    for events in (answers.changes, answers.excluded):
        first: dict[str, tuple[Any, ...]] = {}
        for record, value in events:
            seen = (record.key, record.value, tuple(record.headers))
            assert first.setdefault(value["event_id"], seen) == seen


def streams_are_whole(answers: Answers) -> None:
    """Whoever drops what has a seq already seen sees each player's stream in order and without a gap."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for _, value in answers.changes:
        player = value["pool"], value["player_id"]
        before = last.get(player)
        if before is not None and value["seq"] <= before["seq"]:
            continue
        assert value["seq"] == (before["seq"] if before else 0) + 1, f"{player} jumps from {before} to {value}"
        if before is not None:
            assert value["before"] == before["after"], f"the chain of {player} is broken at {value}"
        last[player] = value


def positions_are_whole(answers: Answers) -> None:
    """Each pool's positions are 1, 2, 3 ..., with the two players of one cause each."""
    found: dict[str, dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for change in answers.distinct.values():
        found[change.value["pool"]][change.value["position"]].append(orjson.dumps(change.value["cause"]))
    for pool, positions in found.items():
        assert sorted(positions) == list(range(1, len(positions) + 1)), f"positions of {pool} have gaps"
        for position, causes in positions.items():
            assert len(causes) == 2 and len(set(causes)) == 1, f"{pool} {position}: {causes}"


def everything_is_answered(sent: Sequence[Sent], answers: Answers) -> None:
    """Every rated match has its two changes, every excluded one its exclusion, and no other match has any."""
    rated = {_about(item): item for item in sent if item.record.kind in RATED}
    excluded = {_about(item): item for item in sent if item.record.kind is Kind.EXCLUDED}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for event_id, change in answers.distinct.items():
        if change.value["cause"]["type"] == "match-finished":
            found[change.value["pool"], change.value["cause"]["match_id"]].add(event_id)
    assert found.keys() == rated.keys()
    for (pool, match_id), event_ids in found.items():
        event = orjson.loads(rated[pool, match_id].record.value or b"")
        about = f"{pool}/match-finished/{event_id_part(match_id)}/"
        assert event_ids == {about + event_id_part(event[side]["player_id"]) for side in ("winner", "loser")}
    told = {(change.value["pool"], change.value["match_id"]): change.value["reason"] for change in answers.excluded}
    assert told == {about: item.record.reason for about, item in excluded.items()}


def _about(item: Sent) -> tuple[str, str]:
    event = orjson.loads(item.record.value or b"")
    return event["pool"], event["match_id"]


def letters_are_whole(sent: Sequence[Sent], letters: Sequence[ConsumerRecord], *, each: bool = True) -> None:
    """Every refused record stands in its dead-letter topic as it came, with the reason, and no other does.

    Without `each`, one of several equal ones is enough: of two equal analyses that are parked, one comes back.
    """
    by_source = {item.source: item for item in sent}
    told: dict[Source, tuple[Any, ...]] = {}
    for letter in letters:
        headers = dict(letter.headers)
        topic, partition, offset = (headers[f"dlt-{name}"].decode() for name in ("topic", "partition", "offset"))
        source = Source(topic, int(partition), int(offset))
        item = by_source[source]
        assert letter.topic == f"{topic}.dlt"
        assert (letter.key, letter.value) == (item.record.key, item.record.value)
        assert headers["dlt-timestamp"] == str(item.record.timestamp_ms).encode()
        assert headers["dlt-message"]
        kept = tuple(header for header in letter.headers if header[0] not in DLT_HEADERS)
        assert kept == item.record.headers
        assert len(letter.headers) == len(kept) + len(DLT_HEADERS)
        assert (item.record.kind in REFUSED, headers["dlt-reason"].decode()) == (True, item.record.reason), item
        seen = (letter.key, letter.value, tuple(letter.headers))
        assert told.setdefault(source, seen) == seen
    refused = [item for item in sent if item.record.kind in REFUSED]
    if each:
        assert told.keys() == {item.source for item in refused}
    else:
        assert {seen[:2] for seen in told.values()} == {(item.record.key, item.record.value) for item in refused}


def analyses_are_final(sent: Sequence[Sent], answers: Answers) -> None:
    """The highest revision published for a rated match is the one that it is settled by in the end."""
    highest: dict[tuple[str, str], int] = {}
    for item in sent:
        if item.record.kind in ANALYSES:
            event = orjson.loads(item.record.value or b"")
            about = event["pool"], event["match_id"]
            highest[about] = max(highest.get(about, 0), event.get("revision", 1))
    settled: dict[tuple[str, str], int] = {}
    for change in answers.distinct.values():
        about = change.value["pool"], change.value["cause"]["match_id"]
        settled[about] = max(settled.get(about, 0), change.value["details"].get("revision") or 0)
    assert {about: settled[about] for about in highest} == highest


def equals_the_replay(site: Site, sent: Sequence[Sent], answers: Answers) -> None:
    """Events, rows, records, windows and leaderboards are what a replay in the order of `position` makes."""
    inputs = _decoded(site, sent)
    for name, pool in pools().items():
        held, parked = in_redis(site, name)
        changes = [change for change in answers.distinct.values() if change.value["pool"] == name]
        excluded = {change.value["event_id"]: change for change in answers.excluded if change.value["pool"] == name}
        own = [decoded for decoded in inputs.values() if decoded.pool == name]
        matches = {match_id: inputs[str(record.source)] for match_id, record in held.records.items()}
        replayed = replay(pool, changes, matches, _analyses(own), site.prefix)
        _same_events(changes, replayed.published)
        _same_exclusions(site, pool, excluded.values(), held, matches)
        _same_tables(held, replayed, name)
        unknown = [_about(item) for item in sent if item.record.kind is Kind.UNKNOWN_ANALYSIS]
        assert parked == {match_id for pool_name, match_id in unknown if pool_name == name}


def _decoded(site: Site, sent: Sequence[Sent]) -> dict[str, Decoded]:
    """Return every input that passes all checks that need no state, by its source."""
    decoders = {site.topic(name): Decoder(name, pools()) for name in INPUTS}
    decoded = {str(item.source): decoders[item.source.topic].decode(item.delivery) for item in sent}
    return {source: one for source, one in decoded.items() if one.event is not None}


def _analyses(inputs: Iterable[Decoded]) -> dict[tuple[str, int], list[Decoded]]:
    found: dict[tuple[str, int], list[Decoded]] = defaultdict(list)
    for decoded in inputs:
        if decoded.event is not None and not isinstance(decoded.event, MatchFinished):
            found[decoded.event.match_id, decoded.event.revision].append(decoded)
    return found


def _same_exclusions(
    site: Site, pool: Pool, told: Iterable[Change], held: Held, matches: Mapping[str, Decoded]
) -> None:
    excluded = [match_id for match_id, record in held.records.items() if record.excluded_reason]
    expected = [exclusion(pool, matches[match_id], site.prefix) for match_id in excluded]
    _same_events(told, {orjson.loads(message.value or b"")["event_id"]: message for message in expected})


def _same_events(told: Iterable[Change], expected: Mapping[str, Message]) -> None:
    found = {change.value["event_id"]: change.record for change in told}
    assert found.keys() == expected.keys()
    for event_id, record in found.items():
        message = expected[event_id]
        assert (record.topic, record.key, record.value) == (message.topic, message.key, message.value)
        assert list(record.headers) == message.headers


def _same_tables(held: Held, replayed: Replayed, pool: str) -> None:
    expected = in_memory(replayed.store)
    assert held.position == expected.position
    assert held.rows == expected.rows
    assert held.windows == expected.windows
    assert held.leaderboard == expected.leaderboard
    rated = {match_id: record for match_id, record in held.records.items() if not record.excluded_reason}
    assert rated == expected.records
