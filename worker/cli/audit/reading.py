"""How far a pool's topics are read and replayed, and reading them further."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from worker.cli.audit.inputs import Inputs
from worker.cli.audit.run import Audit
from worker.cli.audit.show import Bars
from worker.cli.audit.topics import Topics
from worker.ratings.delivery import Header
from worker.stream.inputs import INPUTS
from worker.tables.pieces import Pieces

CHANGED: Final = "rating-changed"
PATIENCE_S: Final = 5.0
"""How long what must still come may take, while nothing comes, in seconds."""
_LOOK_S: Final = 0.1


class Waiting(NamedTuple):
    """A message that is committed and not yet published, as the record that it will be."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


class Reading:
    """Reads inputs and `rating-changed` into an audit; with `pieces` also what waits in the outbox."""

    def __init__(self, topics: Topics, inputs: Inputs, audit: Audit, bars: Bars, pieces: Pieces | None = None) -> None:
        self.inputs = inputs
        self.audit = audit
        self.in_flight: set[int] = set()
        """Positions whose events were in the outbox and have not been seen published."""
        self._topics = topics
        self._bars = bars
        self._pieces = pieces

    async def all_published(self) -> None:
        """Replay everything that is published now, waiting for what a running worker is just publishing."""
        await self.read_on()
        await self.reach(self.audit.highest)

    async def reach(self, position: int, because: str | None = None) -> None:
        """Replay up to a position, or to the first difference; `because` says who has given it."""
        audit = self.audit
        audit.run(position)
        moved_at = time.monotonic()
        while audit.position < position and not audit.stopped:
            stood = audit.position
            await self.read_on(position)
            if audit.position < position and not audit.stopped and self._pieces is not None:
                await self._take_waiting(self._pieces, position)
            if audit.position > stood:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > PATIENCE_S:
                audit.close(position, because)
            else:
                await asyncio.sleep(_LOOK_S)

    async def read_on(self, until: int | None = None) -> None:
        """Read all topics to where they end now, and replay what there is, up to a position (None: all)."""
        ends = await self._topics.ends(CHANGED)  # before those of the inputs, which come first
        await self.read_inputs()
        audit, heads = self.audit, self._topics.heads
        self._bars.step("changes", await self._topics.left(ends))
        async for records in self._topics.read(ends):
            place = (records[0].topic, records[0].partition)
            for record in records:
                position = audit.ordered.add(record)
                if position is not None:
                    heads[place] = max(position, heads.get(place, 0))
                    self.in_flight.discard(position)
            audit.run(until)
            self._bars.advance("changes", len(records))
            await asyncio.sleep(0)

    async def read_inputs(self) -> None:
        """Read the inputs to where they end now."""
        ends = await self._topics.ends(*INPUTS)
        self._bars.step("inputs", await self._topics.left(ends))
        async for records in self._topics.read(ends):
            for record in records:
                self.inputs.add(record)
            self._bars.advance("inputs", len(records))
            await asyncio.sleep(0)

    async def _take_waiting(self, pieces: Pieces, until: int) -> None:
        """Replay what is committed and not published, up to a position."""
        waiting = await pieces.waiting()
        await self.read_inputs()
        changed = self.audit.replay.topic
        for entry in waiting:
            source = entry.source
            if self.audit.position < entry.position <= until:
                self.in_flight.add(entry.position)
                for message in entry.messages:
                    if message.topic == changed:
                        there = Waiting(
                            f"the outbox for {source.topic}",
                            source.partition,
                            source.offset,
                            0,
                            message.key,
                            message.value,
                            message.headers,
                        )
                        self.audit.ordered.add(there)
        self.audit.run(until)
