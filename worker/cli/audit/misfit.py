"""Whether what was published of one cause is, byte for byte, what the rules make of it."""

from collections.abc import Sequence

import orjson

from worker.cli.audit.difference import first_field, shown
from worker.cli.audit.published import Published
from worker.cli.words import shown_id
from worker.ratings.outcome import Kind, Outcome
from worker.ratings.wire import Message, complete, messages

_UNRATED = {
    Kind.EXCLUDED: "it does not count",
    Kind.DUPLICATE: "it is the same as an earlier one",
    Kind.PARKED: "its match has no position before it",
    Kind.IGNORED: "it changes nothing in this pool",
    Kind.PUSHED_OUT: "it is not kept",
}


def misfit(pool: str, position: int, outcome: Outcome, events: Sequence[Published], topic_prefix: str) -> str | None:
    """Return what is wrong with the events of a cause in one clause, None if nothing is."""
    if outcome.changes is None:
        return _unrated(outcome)
    sides = [complete(message, position) for message in messages(pool, outcome, topic_prefix) if message.takes_position]
    found = {event.named.player_id: event for event in events}
    for change, message in zip(outcome.changes.sides, sides, strict=True):
        event = found.pop(change.player_id, None)
        if event is None:
            others = ", ".join(shown_id(other.named.player_id) for other in events)
            return f"there must be an event of {shown_id(change.player_id)}, but there are only those of {others}."
        if event.value != message.value or event.key != message.key or event.headers != tuple(message.headers):
            return _wrong_bytes(shown_id(change.player_id), message, event)
    if found:
        player_id, event = next(iter(found.items()))
        return f"{event.where()} is an event of {shown_id(player_id)}, whom it does not change."
    return None


def _unrated(outcome: Outcome) -> str:
    why = outcome.letters[-1].refusal.message if outcome.letters else _UNRATED.get(outcome.kind, outcome.kind.value)
    return f"it was published as a change, but by the rules there is none: {why.rstrip('.')}."


def _wrong_bytes(player: str, expected: Message, found: Published) -> str:
    where = found.where()
    if found.value != expected.value:
        differing = first_field(orjson.loads(expected.value or b"{}"), _fields(found.value))
        if differing is None:
            return f"{where} says of {player} what it must, but in other bytes than {shown_text(expected.value)}."
        name, wanted, there = differing
        return f"{name} of {player} must be {wanted}, but {where} says {there}."
    if found.key != expected.key:
        there = shown_text(found.key)
        return f"the key of {player}'s event must be {shown_text(expected.key)}, but that of {where} is {there}."
    wanted_headers, there_headers = dict(expected.headers), dict(found.headers)
    for name in (*wanted_headers, *there_headers):
        if wanted_headers.get(name) != there_headers.get(name):
            wanted, there = shown_text(wanted_headers.get(name)), shown_text(there_headers.get(name))
            return f"header {shown_id(name)} of {player}'s event must be {wanted}, but {where} has {there}."
    return f"{where} has the headers that it must have, but in another order."


def _fields(value: bytes) -> dict[str, object]:
    found: dict[str, object] = orjson.loads(value)  # msgspec has read it as an object
    return found


def shown_text(text: bytes | None) -> str:
    """Return bytes as people read them."""
    return "nothing" if text is None else shown(text.decode(errors="backslashreplace"))
