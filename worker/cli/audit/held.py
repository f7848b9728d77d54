"""A pool's tables in Redis, compared with the replay while it goes on: every piece at the position it was read at."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

from worker.cli.audit.compare_facts import (
    Seen,
    compare_links,
    compare_prizes,
    compare_records,
    has_unknown_records,
    unseen_records,
)
from worker.cli.audit.compare_players import compare_players, compare_total, sum_of_ratings
from worker.cli.audit.difference import Difference, First
from worker.cli.audit.reading import Reading
from worker.cli.audit.replay import Replay
from worker.cli.audit.show import Bars
from worker.tables.packing import prize_field
from worker.tables.pieces import Fields, Pieces, Players

_PLAYERS: Final = "players in Redis"
_RECORDS: Final = "records in Redis"

CompareFields = Callable[[Fields, Replay], Iterator[Difference]]


class Comparison:
    """Compares piece by piece. The replay is always behind what is read next, and is brought to that very position."""

    def __init__(self, reading: Reading, pieces: Pieces, bars: Bars) -> None:
        self._reading = reading
        self._replay = reading.audit.replay
        self._pieces = pieces
        self._bars = bars
        self._first = First()
        self._lost = False
        self._horizon_ms = 0

    async def difference(self) -> Difference | None:
        """Compare everything; return the first difference in order of position."""
        players, records = await self._pieces.sizes()
        self._bars.step(_PLAYERS, players)
        self._bars.step(_RECORDS, records)
        for compare in (self._players, self._records, self._prizes, self._links, self._position):
            await compare()
            if self._lost:
                break
        return self._first.difference

    async def _stands(self, position: int) -> bool:
        """Bring the replay to the position at which a piece was read; return False where that cannot be."""
        audit = self._reading.audit
        if position < audit.position:
            there = (
                f"Position {position + 1} was published, but Redis stands at position {position}: it has lost writes."
            )
            self._first.add(Difference(position + 1, there))
            self._lost = True
        else:
            await self._reading.reach(position, f"Redis stands at position {position}")
            self._lost = audit.position < position
            if self._lost:
                self._first.add(audit.first.difference)
        return not self._lost

    async def _players(self) -> None:
        seen: set[str] = set()
        began, total = self._replay.position, 0.0
        async for ids in self._pieces.player_ids():
            new = [name for name in ids if name not in seen]
            seen.update(new)
            total += await self._compare_players(self._pieces.players(new))
            self._bars.advance(_PLAYERS, len(new))
            if self._lost:
                return
        left = [name for name in self._replay.rows if name not in seen]
        async for ids in self._pieces.shown_ids():
            left += [name for name in ids if name not in seen and name not in self._replay.rows]
        total += await self._compare_players(self._pieces.players(left))
        if not self._lost and self._replay.position == began:  # else they are not all of one instant
            self._first.add(compare_total(total, self._replay))

    async def _compare_players(self, pieces: AsyncIterator[Players]) -> float:
        """Compare players and return the sum of their ratings."""
        total = 0.0
        async for piece in pieces:
            if not await self._stands(piece.position):
                break
            self._add(compare_players(piece, self._replay))
            total += sum_of_ratings(piece)
        return total

    async def _records(self) -> None:
        seen = Seen()
        async for piece in self._pieces.hash_of("matches"):
            await self._compare_records(piece, seen)
            self._bars.advance(_RECORDS, len(piece.held))
            if self._lost:
                return
        async for piece in self._pieces.fields_of("matches", unseen_records(seen, self._replay, self._horizon_ms)):
            await self._compare_records(piece, seen)
            if self._lost:
                return

    async def _compare_records(self, piece: Fields, seen: Seen) -> None:
        if await self._stands(piece.position):
            self._horizon_ms = piece.horizon_ms
            if has_unknown_records(piece, self._replay, self._reading.inputs):
                await self._reading.read_inputs()
            self._add(compare_records(piece, self._replay, self._reading.inputs, seen))

    async def _prizes(self) -> None:
        await self._hash("prizes", compare_prizes, lambda: (prize_field(key).encode() for key in self._replay.prizes))

    async def _links(self) -> None:
        await self._hash("aliases", compare_links, lambda: (name.encode() for name in self._replay.links))

    async def _hash(self, name: str, compare: CompareFields, expected: Callable[[], Iterable[bytes]]) -> None:
        seen: set[bytes] = set()
        async for piece in self._pieces.hash_of(name):
            if not await self._stands(piece.position):
                return
            self._add(compare(piece, self._replay))
            seen.update(piece.held)
        async for piece in self._pieces.fields_of(name, [field for field in expected() if field not in seen]):
            if not await self._stands(piece.position):
                return
            self._add(compare(piece, self._replay))

    async def _position(self) -> None:
        await self._stands(await self._pieces.position())

    def _add(self, found: Iterable[Difference]) -> None:
        for difference in found:
            self._first.add(difference)
