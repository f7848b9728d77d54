"""The lane on tables in memory, with another worker that commits in between."""

import asyncio
import json
from itertools import count
from types import SimpleNamespace

from tests.contract.stores import Desk
from tests.ratings.ladder import AT, POOLS, SECOND, finished
from tests.servers.process import PATIENCE_S
from worker.ratings.instants import format_instant
from worker.settings import Settings
from worker.stream.app import PartitionBatch
from worker.stream.decode import Decoder
from worker.stream.ending import Exit
from worker.stream.health import Health
from worker.stream.intake import Intake
from worker.stream.lane import Lane
from worker.stream.metrics import Metrics
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import UNPOOLED

TOPIC = "match-finished"


class InBetween(MemoryTables):
    """Tables on which another worker makes the first commit stale, and commits again after the load that follows."""

    def __init__(self, store, other):
        super().__init__(store, "gammon42", "here")
        self._other = other
        self._first = finished("gammon42", "foreign", "ann", "bob", at=AT)
        self._second = None

    async def commit_then_load(self, commit, wanted):
        if self._first is not None:
            await self._other.send(self._first)
        answer = await super().commit_then_load(commit, wanted)
        if self._first is not None:
            self._first, self._second = None, finished("gammon42", "y", "p", "q", at=AT)
        return answer

    async def load(self, wanted):
        loaded = await super().load(wanted)
        if self._second is not None and "m-1" not in wanted.match_ids:
            second, self._second = self._second, None
            await self._other.send(second)
        return loaded


class Published:
    """A Kafka that takes everything."""

    def __init__(self):
        self.values = []

    async def publish(self, messages):
        self.values += [json.loads(message.value) for message in messages]


def record(offset, winner, loser):
    event = {
        "match_id": f"m-{offset + 1}",
        "pool": "gammon42",
        "winner": {"player_id": winner},
        "loser": {"player_id": loser},
        "finished_at": format_instant(AT + (offset + 1) * SECOND),
        "mode": "ranked",
        "cube": 1,
    }
    value = json.dumps(event).encode()
    return SimpleNamespace(
        topic=TOPIC, partition=0, offset=offset, timestamp=AT + 10 * SECOND, key=None, value=value, headers=()
    )


def test_a_batch_never_counts_windows_from_before_what_it_is_decided_on():
    async def body():
        store, published, leave = MemoryStore(), Published(), Exit()
        other = Desk("gammon42", MemoryTables(store, "gammon42", "there"), count(1000))
        tables = {"gammon42": InBetween(store, other), UNPOOLED: MemoryTables(MemoryStore(), UNPOOLED, "here")}
        intake = Intake({TOPIC: Decoder(TOPIC, POOLS)}, 1000)

        all_acknowledged = asyncio.Event()

        async def acknowledge():
            all_acknowledged.set()

        records = [record(0, "ann", "bob"), record(1, "p", "q"), record(2, "p", "q")]
        await intake.put(PartitionBatch(TOPIC, 0, records, 0, len(records), acknowledge, lambda: None, lambda: True))
        lane = Lane(Settings(batch_max=1), POOLS, tables, intake, published, None, Metrics(), Health(), leave)
        working = asyncio.create_task(lane.run())
        async with asyncio.timeout(PATIENCE_S):
            await all_acknowledged.wait()
        working.cancel()
        assert not leave.failed, leave.reason
        counts = {
            (value["cause"]["match_id"], value["player_id"]): value["details"]["games_in_window"]
            for value in published.values
        }
        assert (counts["m-1", "ann"], counts["m-2", "p"], counts["m-3", "p"], counts["m-3", "q"]) == (1, 1, 2, 2)

    asyncio.run(body())
