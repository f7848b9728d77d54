"""Workers reduced to what touches the tables: apply a batch, publish, settle; and a broker that is a Redis list."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.msgpack import decode, encode

from tests.integration.writing.traffic import Log
from tests.ratings.ladder import POOLS
from worker.ratings.wire import Message
from worker.stream.apply import Applied, Decided, Progress, Target, apply, commit, decide_all, load
from worker.stream.decode import Decoded
from worker.tables.tables import Commit, Committed, Loaded, Marker, Partition, PoolTables, Wanted


class DiedError(Exception):
    """A writer ended without having settled what it committed."""


class LostReplyError(Exception):
    """A commit was written, and nobody was told."""


@dataclass
class Unsure:
    """Tables whose answer to a commit is lost now and then."""

    tables: PoolTables
    chance: random.Random
    loses: float

    async def commit(self, commit: Commit) -> Committed:
        committed = await self.tables.commit(commit)
        if self.chance.random() < self.loses:
            raise LostReplyError
        return committed

    async def commit_then_load(self, commit: Commit, wanted: Wanted) -> tuple[Committed, Loaded]:
        answer = await self.tables.commit_then_load(commit, wanted)
        if self.chance.random() < self.loses:
            raise LostReplyError
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tables, name)


@dataclass
class Writer:
    """Takes the partitions it is given from their markers on, in batches of up to `batch_max`.

    As the worker's lane does, it decides a batch on top of the one before while that is being committed and the next
    one loaded, and settles only after its next commit. It publishes message by message and lets others in between.
    With `dies` it raises DiedError at one of those moments, at random.
    """

    pool: str
    tables: PoolTables
    broker: "Broker"
    chance: random.Random
    batch_max: int = 8
    dies: float = 0
    conflicts: int = 0
    _unsettled: list[tuple[Applied, list[Marker]]] = field(default_factory=list)

    async def work(self, log: Log) -> None:
        """Load, decide, commit, publish and settle all that stands in these partitions."""
        markers = await self.tables.markers()
        next_offsets = {name: markers[name].applied if name in markers else 0 for name in log}
        progress = Progress(0, dict(next_offsets))
        target = Target(self.pool, POOLS[self.pool], self.tables, "")
        before: Decided | None = None
        waiting: tuple[Sequence[Decoded], Loaded] | None = None
        reached: list[list[Marker]] = []
        while (batch := self._take(log, next_offsets)) or waiting is not None or before is not None:
            if batch:
                reached.append([Marker(name, offset) for name, offset in next_offsets.items()])
            exchange = asyncio.create_task(self._exchange(target, before, batch, progress))
            decided = await decide_all(target, *waiting, before) if waiting is not None else None
            applied, loaded = await exchange
            if applied is not None:
                if applied.conflicts and decided is not None:
                    again = await load(target, decided.events, progress)
                    decided = await decide_all(target, decided.events, again, None)
                if batch and loaded is None:
                    loaded = await load(target, batch, progress)
                self.conflicts += applied.conflicts
                progress = Progress(applied.position, progress.applied)
                await self._settle()
                await self._publish(applied.messages)
                self._unsettled.append((applied, reached.pop(0)))
            before = decided
            waiting = (batch, loaded) if loaded is not None else None
        await self._settle()

    async def _exchange(
        self, target: Target, decided: Decided | None, following: Sequence[Decoded], progress: Progress
    ) -> tuple[Applied | None, Loaded | None]:
        if decided is not None:
            return await self._commit(target, decided, following, progress)
        return None, await load(target, following, progress) if following else None

    async def _commit(
        self, target: Target, decided: Decided, following: Sequence[Decoded], progress: Progress
    ) -> tuple[Applied, Loaded | None]:
        try:
            return await commit(target, decided, following, progress)
        except LostReplyError:
            pass
        while True:
            try:
                again = await apply(target, decided.events, progress)
            except LostReplyError:
                continue
            again.conflicts = max(1, again.conflicts)
            return again, None

    def _take(self, log: Log, next_offsets: dict[Partition, int]) -> list[Decoded]:
        """Merge the partitions' heads by their instants."""
        batch: list[Decoded] = []
        for _ in range(self.chance.randint(1, self.batch_max)):
            heads = [(log[name][at].instant_ms, name) for name, at in next_offsets.items() if at < len(log[name])]
            if not heads:
                break
            _, name = min(heads)
            batch.append(log[name][next_offsets[name]])
            next_offsets[name] += 1
        return batch

    async def _publish(self, messages: Sequence[Message]) -> None:
        self._maybe_die()
        at = 0
        while at < len(messages):
            several = self.chance.choice([1, 2, 5, 20])
            await self.broker.publish(messages[at : at + several])
            at += several
            self._maybe_die()
            if self.chance.random() < 0.3:
                await asyncio.sleep(0)

    async def _settle(self) -> None:
        for applied, markers in self._unsettled:
            await self.tables.settle(applied.sources, markers)
        self._unsettled.clear()
        self._maybe_die()

    def _maybe_die(self) -> None:
        if self.chance.random() < self.dies:
            raise DiedError


@dataclass
class Broker:
    """Keeps what is published in the order in which it arrives, whichever process it comes from."""

    client: Any
    key: str

    async def publish(self, messages: Sequence[Message]) -> None:
        await self.client.rpush(
            self.key, *(encode((one.topic, one.key, one.value, dict(one.headers))) for one in messages)
        )

    async def published(self, topic: str) -> list[tuple[bytes, bytes]]:
        """Return key and value of everything in a topic, in order."""
        entries = [decode(entry) for entry in await self.client.lrange(self.key, 0, -1)]
        return [(key, value) for name, key, value, _ in entries if name == topic]

    async def letters(self) -> list[tuple[bytes, str]]:
        """Return value and reason of every dead letter, in order."""
        entries = [decode(entry) for entry in await self.client.lrange(self.key, 0, -1)]
        return [(value, headers["dlt-reason"].decode()) for name, _, value, headers in entries if name.endswith(".dlt")]
