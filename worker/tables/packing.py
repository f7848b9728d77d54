"""Values as the tables store them: a version first, one space, and the rest."""

from collections.abc import Sequence
from typing import Any

import orjson
import ormsgpack

from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import AnalyzedPlayer
from worker.ratings.rows import MatchRecord, Parked, ParkedAnalysis, RatedRecord, RecordedSide, Row
from worker.ratings.wire import Message
from worker.rules.match import MatchFinished, Player
from worker.rules.ruleset import Rating

ABSENT = ""
"""Version of what is not there."""


def pack_row(row: Row) -> str:
    """Return `seq rating rated_games experience newest_finished_at_ms last_source`; ratings read back bit for bit."""
    newest = "-" if row.newest_finished_at_ms is None else row.newest_finished_at_ms
    return f"{row.seq} {row.rating!r} {row.rated_games} {row.experience} {newest} {row.last_source}"


def unpack_row(packed: bytes) -> Row:
    """Read a packed row."""
    seq, rating, games, experience, newest, source = packed.decode().split(" ")
    return Row(int(seq), _rating(rating), int(games), int(experience), None if newest == "-" else int(newest), source)


def _rating(text: str) -> Rating:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def row_version(row: Row | None) -> str:
    """Return what a commit must find in front of the row it replaces."""
    return ABSENT if row is None else str(row.seq)


def record_version(record: MatchRecord | None) -> str:
    """Return what a commit must find in front of the record it replaces."""
    if record is None:
        return ABSENT
    return "-" if record.rated is None or record.rated.revision is None else str(record.rated.revision)


def parked_version(parked: Parked | None) -> str:
    """Return what a commit must find in front of the parked analyses it was decided on."""
    return ABSENT if parked is None else parked.version


def pack_record(record: MatchRecord) -> bytes:
    """Return `finished_at_ms JSON`, what follows a record's version and position."""
    content, rated = record.content, record.rated
    value = {
        "content": [tuple(content.winner), tuple(content.loser), *content[5:]],
        "source": tuple(record.source),
        "excluded": record.excluded_reason,
        "rated": rated and (tuple(rated.winner), tuple(rated.loser), *rated[2:]),
    }
    return b"%d %b" % (content.finished_at_ms, orjson.dumps(value))


def unpack_record(pool: str, match_id: str, packed: bytes) -> MatchRecord:
    """Read a stored record: `version position finished_at_ms JSON`."""
    _, position, finished_at_ms, text = packed.split(b" ", 3)
    value: dict[str, Any] = orjson.loads(text)
    winner, loser, *others = value["content"]
    content = MatchFinished(pool, match_id, Player(*winner), Player(*loser), int(finished_at_ms), *others)
    rated = None
    if value["rated"] is not None:
        won, lost, *settlement = value["rated"]
        rated = RatedRecord(RecordedSide(*won), RecordedSide(*lost), *settlement)
    return MatchRecord(content, Source(*value["source"]), value["excluded"], rated, int(position))


def pack_parked(parked: Parked) -> bytes:
    """Return `version analyzed_at_ms MessagePack`, with the newest instant among them and each delivery's bytes."""
    analyses = [
        (
            [tuple(player) for player in analysis.players],
            analysis.revision,
            analysis.analyzed_at_ms,
            tuple(analysis.delivery.source),
            analysis.delivery.timestamp_ms,
            analysis.delivery.key,
            analysis.delivery.value,
            [tuple(header) for header in analysis.delivery.headers],
        )
        for analysis in parked.analyses
    ]
    newest = max(analysis.analyzed_at_ms for analysis in parked.analyses)
    return b"%b %d %b" % (parked.version.encode(), newest, ormsgpack.packb(analyses))


def unpack_parked(packed: bytes) -> Parked:
    """Read packed analyses."""
    version, _, analyses = packed.split(b" ", 2)
    return Parked(version.decode(), tuple(_analysis(*analysis) for analysis in ormsgpack.unpackb(analyses)))


def _analysis(
    players: list[Any],
    revision: int,
    analyzed_at_ms: int,
    source: list[Any],
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: list[Any],
) -> ParkedAnalysis:
    first, second = (AnalyzedPlayer(*player) for player in players)
    delivery = Delivery(Source(*source), timestamp_ms, key, value, [(name, text) for name, text in headers])
    return ParkedAnalysis((first, second), revision, analyzed_at_ms, delivery)


def pack_messages(messages: Sequence[Message]) -> bytes:
    """Return what an outbox entry has to publish, as MessagePack."""
    return ormsgpack.packb([tuple(message) for message in messages])


def unpack_messages(packed: bytes) -> list[Message]:
    """Read what an outbox entry has to publish."""
    return [
        Message(topic, key, value, [(name, text) for name, text in headers], takes_position)
        for topic, key, value, headers, takes_position in ormsgpack.unpackb(packed)
    ]
