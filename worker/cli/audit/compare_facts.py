"""What the tables hold of matches, prizes and links, compared with a replay. Pure: pieces in, differences out."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import MsgspecError

from worker.cli.audit.choices import Choices
from worker.cli.audit.difference import NOWHERE, Difference, shown
from worker.cli.audit.inputs import Inputs
from worker.cli.audit.replay import Replay
from worker.cli.words import shown_id
from worker.ratings.match import content
from worker.ratings.rows import Link, MatchRecord, Prize, RatedRecord
from worker.ratings.state import PrizeKey
from worker.rules.match import MatchFinished
from worker.tables.packing import prize_field, unpack_link, unpack_prize, unpack_record
from worker.tables.pieces import Fields

Value = TypeVar("Value")


def readable(unpack: Callable[[bytes], Value], packed: bytes) -> Value | None:
    """Return what is packed, None where it is not what a worker packs."""
    try:
        return unpack(packed)
    except (ValueError, MsgspecError):
        return None


class Seen:
    """Which positions have a record that was compared."""

    def __init__(self) -> None:
        self._marked = bytearray()
        self.count = 0

    def mark(self, position: int) -> None:
        """Note a position."""
        if position >= len(self._marked):
            self._marked.extend(bytes(position + 1 - len(self._marked)))
        self.count += not self._marked[position]
        self._marked[position] = 1

    def __contains__(self, position: int) -> bool:
        return position < len(self._marked) and bool(self._marked[position])


def compare_records(piece: Fields, replay: Replay, inputs: Inputs, seen: Seen) -> Iterator[Difference]:
    """Compare the records of a piece; the replay must stand at its position."""
    for field, packed in piece.held.items():
        match_id = field.decode(errors="backslashreplace")
        kept = replay.records.get(match_id)
        if kept is not None:
            seen.mark(kept.position)
        wrong = _record(match_id, readable(unpack_record, packed), kept, replay, inputs)
        if wrong is not None:
            position = NOWHERE if kept is None else kept.position
            yield Difference(position, f"The record of {shown_id(match_id)}: {wrong}")
    for field in piece.asked:
        kept = replay.records.get(field.decode())
        if kept is not None and field not in piece.held and kept.content.finished_at_ms >= piece.horizon_ms:
            sentence = f"The record of {shown_id(field.decode())}: there must be one, but there is none."
            yield Difference(kept.position, sentence)


def unseen_records(seen: Seen, replay: Replay, horizon_ms: int) -> list[bytes]:
    """Return the matches whose records must be there and were not seen: none from before the horizon."""
    if seen.count == len(replay.records):
        return []
    kept = ((match_id, replay.records.get(match_id)) for match_id in replay.records)
    return [
        match_id.encode()
        for match_id, record in kept
        if record is not None and record.position not in seen and record.content.finished_at_ms >= horizon_ms
    ]


def has_unknown_records(piece: Fields, replay: Replay, inputs: Inputs) -> bool:
    """Return whether a piece has records of which neither replay nor inputs know, for want of reading further."""
    return any(
        (match_id := field.decode(errors="backslashreplace")) not in replay.records
        and not inputs.of("match-finished", match_id)
        for field in piece.held
    )


def _record(
    match_id: str, record: MatchRecord | None, kept: MatchRecord | None, replay: Replay, inputs: Inputs
) -> str | None:
    if record is None:
        return "it cannot be read."
    if kept is None:
        return _excluded(match_id, record, replay, inputs)
    if replay.records.holds(match_id, record):
        return None
    record = replay.choices.as_taken(record, kept, inputs)
    if replay.records.holds(match_id, record):
        return None
    for name in MatchFinished.__struct_fields__:
        wanted, there = getattr(kept.content, name), getattr(record.content, name)
        if wanted != there:
            return f"{name} must be {shown(wanted)}, but is {shown(there)}."
    if record.rated is None or kept.rated is None:
        return "it must be rated, but is excluded."
    if record.position != kept.position:
        return f"its position must be {kept.position}, but is {record.position}."
    wrong = _rated(kept.rated, record.rated)
    if wrong is None and record.source != kept.source:
        return f"it must come from {kept.source}, but says {record.source}."
    return wrong or "its terms are not those of its change."


def _rated(expected: RatedRecord, found: RatedRecord) -> str | None:
    for wanted, there in ((expected.winner, found.winner), (expected.loser, found.loser)):
        for name in ("player_id", "before", "change", "standing"):
            if getattr(wanted, name) != getattr(there, name):
                of = shown_id(wanted.player_id)
                return f"{name} of {of} must be {getattr(wanted, name)}, but is {getattr(there, name)}."
    for name in ("raw_change", "revision", "halved", "settles_by_ms"):
        if getattr(expected, name) != getattr(found, name):
            return f"{name} must be {shown(getattr(expected, name))}, but is {shown(getattr(found, name))}."
    return None


def _excluded(match_id: str, record: MatchRecord, replay: Replay, inputs: Inputs) -> str | None:
    if record.rated is not None:
        return f"there must be none, for no change names it, but there is one with position {record.position}."
    reason = replay.pool.rules.exclusion(record.content)
    if reason != record.excluded_reason:
        return f"it must be {reason or 'rated'}, but is excluded as {record.excluded_reason}."
    said = [given for given in inputs.of("match-finished", match_id) if _is_of(given.event, record.content)]
    if not said:
        return "it must come from an accepted input, but none in match-finished says what it does."
    if not any(given.delivery.source == record.source for given in said):
        return f"it must come from {said[0].delivery.source}, but says {record.source}."
    return None


def _is_of(event: object, known: MatchFinished) -> bool:
    return isinstance(event, MatchFinished) and content(event) == known


def compare_prizes(piece: Fields, replay: Replay) -> Iterator[Difference]:
    """Compare the prizes of a piece; the replay must stand at its position."""
    for field, packed in piece.held.items():
        prize = readable(unpack_prize, packed)
        key = None if prize is None else (prize.tournament_id, prize.player_id)
        if prize is None or key is None or prize_field(key).encode() != field:
            there = shown(field.decode(errors="backslashreplace"))
            yield Difference(NOWHERE, f"The prize at {there} cannot be read, or is another one.")
        else:
            yield from _fact(_of_prize(key), replay.prizes.get(key), prize, replay.choices)
    if not piece.asked:
        return
    keys = {prize_field(key).encode(): key for key in replay.prizes}
    for field in piece.asked:
        key = keys.get(field)
        if key is not None and field not in piece.held:
            yield Difference(replay.prizes[key].position, f"{_of_prize(key)} must be kept, but is not.")


def _of_prize(key: PrizeKey) -> str:
    return f"The prize of {shown_id(key[0])} for {shown_id(key[1])}"


def compare_links(piece: Fields, replay: Replay) -> Iterator[Difference]:
    """Compare the links of a piece, where each is under both its ids; the replay must stand at its position."""
    for field, packed in piece.held.items():
        player_id, link = field.decode(errors="backslashreplace"), readable(unpack_link, packed)
        if link is None:
            yield Difference(NOWHERE, f"The link of {shown_id(player_id)} cannot be read.")
        else:
            expected = replay.links.get(player_id)
            yield from _fact(f"The link of {shown_id(player_id)}", expected, link, replay.choices)
    for field in piece.asked:
        expected = replay.links.get(field.decode())
        if expected is not None and field not in piece.held:
            yield Difference(expected.position, f"The link of {shown_id(field.decode())} must be kept, but is not.")


def _fact(what: str, expected: Prize | Link | None, found: Prize | Link, choices: Choices) -> Iterator[Difference]:
    if expected is None:
        yield Difference(NOWHERE, f"{what} must not be kept, for no change names it, but is.")
        return
    for name in found.__struct_fields__:
        wanted, there = getattr(expected, name), getattr(found, name)
        if name != "source" and wanted != there:
            yield Difference(expected.position, f"{what}: {name} must be {shown(wanted)}, but is {shown(there)}.")
            return
    if not choices.alike(expected.position, expected.source, found.source):
        yield Difference(expected.position, f"{what} must come from {expected.source}, but says {found.source}.")
