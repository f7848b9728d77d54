"""Values as the tables store them: a version first, one space, and the rest."""

from collections.abc import Sequence

from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from worker.ratings.outcome import Outcome
from worker.ratings.rows import Link, MatchRecord, Parked, ParkedAnalysis, Prize, Row
from worker.ratings.state import PrizeKey
from worker.ratings.wire import Message
from worker.rules.ruleset import Rating

_encode = Encoder().encode
_decode_record = Decoder(MatchRecord).decode
_decode_analyses = Decoder(tuple[ParkedAnalysis, ...]).decode
_decode_prize = Decoder(Prize).decode
_decode_link = Decoder(Link).decode
_decode_messages = Decoder(list[Message]).decode

ABSENT = ""
"""Version of what is not there."""


def pack_row(row: Row) -> str:
    """Return `seq rating rated_games experience newest_finished_at_ms last_source`, and ` retired` where it is.

    Ratings read back bit for bit.
    """
    newest = "-" if row.newest_finished_at_ms is None else row.newest_finished_at_ms
    retired = " retired" if row.retired else ""
    return f"{row.seq} {row.rating!r} {row.rated_games} {row.experience} {newest} {row.last_source}{retired}"


def unpack_row(packed: bytes) -> Row:
    """Read a packed row."""
    seq, rating, games, experience, newest, source, *retired = packed.decode().split(" ")
    newest_ms = None if newest == "-" else int(newest)
    return Row(int(seq), _rating(rating), int(games), int(experience), newest_ms, source, bool(retired))


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


def names_of(outcome: Outcome) -> list[str]:
    """Return what a cause is stale with: each player and the match that it names."""
    names = ["p" + player_id for player_id in outcome.players]
    return ["m" + outcome.match_id, *names] if outcome.match_id else names


def pack_record(record: MatchRecord) -> bytes:
    """Return `finished_at_ms MessagePack`, what follows a record's version and position."""
    return b"%d %b" % (record.content.finished_at_ms, _encode(record))


def unpack_record(packed: bytes) -> MatchRecord:
    """Read a stored record: `version position finished_at_ms MessagePack`."""
    _, position, _, record = packed.split(b" ", 3)
    return replace(_decode_record(record), position=int(position))


def record_instant_ms(packed: bytes) -> int:
    """Return when a stored record's match ended, in UTC ms."""
    return int(packed.split(b" ", 3)[2])


def pack_parked(parked: Parked) -> bytes:
    """Return `version analyzed_at_ms MessagePack`, with the newest instant among them and each delivery's bytes."""
    newest = max(analysis.analyzed_at_ms for analysis in parked.analyses)
    return b"%b %d %b" % (parked.version.encode(), newest, _encode(parked.analyses))


def unpack_parked(packed: bytes) -> Parked:
    """Read packed analyses."""
    version, _, analyses = packed.split(b" ", 2)
    return Parked(version.decode(), _decode_analyses(analyses))


def parked_instant_ms(packed: bytes) -> int:
    """Return the newest instant of packed analyses, in UTC ms."""
    return int(packed.split(b" ", 2)[1])


def pack_fact(fact: Prize | Link) -> bytes:
    """Return a prize or a link as MessagePack, what follows its position."""
    return _encode(fact)


def unpack_prize(packed: bytes) -> Prize:
    """Read a stored prize: `position MessagePack`."""
    position, prize = packed.split(b" ", 1)
    return replace(_decode_prize(prize), position=int(position))


def unpack_link(packed: bytes) -> Link:
    """Read a stored link: `position MessagePack`."""
    position, link = packed.split(b" ", 1)
    return replace(_decode_link(link), position=int(position))


def prize_field(key: PrizeKey) -> str:
    """Return the field of the hash of prizes, another one for every (tournament_id, player_id).

    It travels to scripts inside MessagePack, where Redis reads text, but no bytes.
    """
    tournament_id, player_id = key
    return f"{len(tournament_id)} {tournament_id}{player_id}"


def pack_messages(messages: Sequence[Message]) -> bytes:
    """Return what an outbox entry has to publish, as MessagePack."""
    return _encode(messages)


def unpack_messages(packed: bytes) -> list[Message]:
    """Read what an outbox entry has to publish."""
    return _decode_messages(packed)
