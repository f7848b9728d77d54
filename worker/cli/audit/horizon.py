"""How far a pool's horizon can have been when an input should have been answered."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from worker.cli.audit.difference import NOWHERE
from worker.cli.audit.inputs import Input, Inputs
from worker.cli.audit.replay import NO_PLACE, Used
from worker.ratings.events import Event, MatchAnalyzed, TournamentPrizeAwarded
from worker.rules.match import MatchFinished


class _Column(NamedTuple):
    """The positions of one place's causes; of each the highest offset so far, and the lowest from there on."""

    positions: Sequence[int]
    highest: Sequence[int]
    lowest: Sequence[int]

    def position_past(self, offset: int) -> int:
        """Return the first position of an input that stands after an offset, NOWHERE if there is none."""
        at = bisect_right(self.highest, offset)
        return self.positions[at] if at < len(self.positions) else NOWHERE

    def offset_after(self, position: int) -> int | None:
        """Return the lowest offset that was answered after a position, None if none was."""
        at = bisect_right(self.positions, position)
        return self.lowest[at] if at < len(self.lowest) else None


class Horizon:
    """Tells of inputs whether the horizon may have passed them before they came.

    Markers move only over what is answered, and the horizon never passes the newest timestamp under all of them.
    """

    def __init__(self, used: Used, inputs: Inputs, retention_ms: int) -> None:
        self._used = used
        self._inputs = inputs
        self._retention_ms = retention_ms
        self._newest_ms = max((inputs.newest_before(number, None) for number in range(len(inputs.places))), default=0)
        self._columns: list[_Column] = []

    def may_be_past(self, given: Input) -> bool:
        """Return whether the horizon can have been past an input that was followed by answered ones."""
        instant_ms = _instant_of(given.event)
        if instant_ms >= self._newest_ms - self._retention_ms:
            return False
        self._columns = self._columns or _columns(self._used, len(self._inputs.places))
        own = self._columns[self._inputs.number_of(given.delivery.source)]
        position = own.position_past(given.delivery.source.offset)
        reached = (
            self._inputs.newest_before(number, column.offset_after(position))
            for number, column in enumerate(self._columns)
        )
        return instant_ms < max(reached) - self._retention_ms


def _columns(used: Used, places: int) -> list[_Column]:
    positions, offsets = [array("q") for _ in range(places)], [array("q") for _ in range(places)]
    for position, (number, offset) in enumerate(zip(used.places, used.offsets, strict=True), start=1):
        if number != NO_PLACE:
            positions[number].append(position)
            offsets[number].append(offset)
    return [
        _Column(own, array("q", accumulate(of_own, max)), _from_the_end(accumulate(reversed(of_own), min)))
        for own, of_own in zip(positions, offsets, strict=True)
    ]


def _from_the_end(backwards: Iterable[int]) -> Sequence[int]:
    found = array("q", backwards)
    found.reverse()
    return found


def _instant_of(event: Event) -> int:
    if isinstance(event, MatchFinished):
        return event.finished_at_ms
    if isinstance(event, MatchAnalyzed):
        return event.analyzed_at_ms
    return event.awarded_at_ms if isinstance(event, TournamentPrizeAwarded) else event.linked_at_ms
