"""Outcomes as the bytes that are published: values, keys and headers of every output topic."""

import orjson
from msgspec import Struct
from msgspec.structs import replace

from worker.ratings.delivery import Header, Unreadable
from worker.ratings.instants import format_instant
from worker.ratings.outcome import Change, Changes, Letter, Outcome

Headers = list[Header]


class Message(Struct, frozen=True, gc=False, array_like=True):
    """One record to publish. Where `takes_position`, `value` lacks its end until the tables gave a position."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    takes_position: bool = False


def complete(message: Message, position: int) -> Message:
    """Return the message as it is published, with the pool's position as the last field of its JSON."""
    if not message.takes_position or message.value is None:
        return message
    return Message(message.topic, message.key, b'%b,"position":%d}' % (message.value, position), message.headers)


def messages(pool: str, outcome: Outcome, topic_prefix: str) -> list[Message]:
    """Return everything that has to be published for one outcome, in order; most outcomes have nothing or two."""
    answers = [_letter(letter) for letter in outcome.letters]
    if outcome.changes is not None:
        answers += _changes(pool, outcome.changes, outcome.instant_ms, f"{topic_prefix}rating-changed")
    if outcome.excluded_reason is not None:
        answers.append(_excluded(pool, outcome, f"{topic_prefix}match-excluded"))
    return answers


def event_id_part(identifier: str) -> str:
    """Return an id with `%`, `/` and `@` percent-encoded, so that no two facts share an event id."""
    return identifier.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def _changes(pool: str, changes: Changes, instant_ms: int, topic: str) -> list[Message]:
    cause = changes.cause
    occurred_at = format_instant(instant_ms)
    about = f"{pool}/{cause.type}/{event_id_part(cause.id)}"
    if "revision" in cause.fields:
        about = f"{about}@{cause.fields['revision']}"
    facts: dict[str, object] = {
        "pool": pool,
        "cause": {"type": cause.type, **cause.fields},
        "final": changes.settles_by_ms is None,
        "occurred_at": occurred_at,
    }
    if changes.settles_by_ms is not None:
        facts["settles_by"] = format_instant(changes.settles_by_ms)
    headers = _headers(b"rating-changed.v1", pool, occurred_at)
    return [_change(topic, f"{about}/{event_id_part(side.player_id)}", side, facts, headers) for side in changes.sides]


def _change(topic: str, event_id: str, side: Change, facts: dict[str, object], headers: Headers) -> Message:
    value: dict[str, object] = {
        "event_id": event_id,
        "player_id": side.player_id,
        "seq": side.seq,
        "before": side.before,
        "change": side.after - side.before,
        "after": side.after,
        "late": side.late,
        "rated_games": side.rated_games,
        **facts,
        "details": side.details,
    }
    if side.experience is not None:
        value["experience"] = side.experience
    if side.linked_to is not None:
        value["retired"], value["linked_to"] = True, side.linked_to
    key = f"{facts['pool']}:{side.player_id}".encode()
    return Message(topic, key, orjson.dumps(value)[:-1], [("ce_id", event_id.encode()), *headers], True)


def _excluded(pool: str, outcome: Outcome, topic: str) -> Message:
    occurred_at = format_instant(outcome.instant_ms)
    event_id = f"{pool}/match-excluded/{event_id_part(outcome.match_id)}"
    winner_id, loser_id = outcome.players
    value = {
        "event_id": event_id,
        "pool": pool,
        "match_id": outcome.match_id,
        "winner_id": winner_id,
        "loser_id": loser_id,
        "reason": outcome.excluded_reason,
        "occurred_at": occurred_at,
    }
    headers = [("ce_id", event_id.encode()), *_headers(b"match-excluded.v1", pool, occurred_at)]
    return Message(topic, f"{pool}:{outcome.match_id}".encode(), orjson.dumps(value), headers)


def _headers(event_type: bytes, pool: str, occurred_at: str) -> Headers:
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", event_type),
        ("ce_source", f"/gammon-ratings/{pool}".encode()),
        ("ce_time", occurred_at.encode()),
        ("content-type", b"application/json"),
    ]


DLT_HEADERS = ("dlt-reason", "dlt-message", "dlt-topic", "dlt-partition", "dlt-offset", "dlt-timestamp")
DLT_BODY = "dlt-body"
"""Header of letters only that lack key, body and the original's headers; it says why."""
TOO_LARGE, UNREADABLE = b"left out: too large", b"left out: unreadable"


def _letter(letter: Letter) -> Message:
    delivery, refusal = letter.delivery, letter.refusal
    source = delivery.source
    said = (
        refusal.reason.value,
        refusal.message,
        source.topic,
        str(source.partition),
        str(source.offset),
        str(delivery.timestamp_ms),
    )
    kept = [header for header in delivery.headers if header[0] not in DLT_HEADERS and header[0] != DLT_BODY]
    added: Headers = [
        (name, text.encode("ascii", "backslashreplace")) for name, text in zip(DLT_HEADERS, said, strict=True)
    ]
    message = Message(f"{source.topic}.dlt", delivery.key, delivery.value, kept + added)
    return without_body(message, UNREADABLE) if isinstance(delivery.value, Unreadable) else message


def without_body(letter: Message, why: bytes = TOO_LARGE) -> Message:
    """Return a dead letter that fits any topic: reason and coordinates of the original, which stays in its own."""
    kept = [(name, value) for name, value in letter.headers if name in DLT_HEADERS]
    return replace(letter, key=None, value=None, headers=[*kept, (DLT_BODY, why)])
