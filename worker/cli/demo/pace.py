"""Lets the platforms run no more than two days ahead of the worker."""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import groupby

from worker.cli.simulation import DAY_MS, Published


def by_day(records: Iterable[Published], start_ms: int) -> Iterator[Iterator[Published]]:
    """Yield the records of each day since `start_ms` (UTC milliseconds); one day is to be read before the next."""
    return (records for _, records in groupby(records, lambda record: (record.timestamp_ms - start_ms) // DAY_MS))


class Pace:
    """Where the worker is, for those who wait for it.

    Topics have no order between them, so of all that is published at once a worker may take the few links before the
    matches that the players had played by then. In two weeks it would have rated those long before.
    """

    def __init__(self) -> None:
        self._answered = 0
        self._moved = asyncio.Event()

    def saw(self, answered: int) -> None:
        """Note how many records are answered by now."""
        self._answered = answered
        self._moved.set()

    async def reached(self, published: int) -> None:
        """Return when that many records are answered."""
        while self._answered < published:
            self._moved.clear()
            await self._moved.wait()
