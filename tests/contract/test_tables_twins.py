"""The tables in memory and those in Redis, driven through the same steps by two workers, must never differ.

Workers decide at one moment and commit at another, so that whatever can be stale is stale in some run; and what was
published for all of it must be what the causes give when they are replayed by position.
"""

import asyncio
import secrets
from itertools import count
from typing import Any

import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.contract.stores import Desk
from tests.ratings.ladder import AT, HOUR, POOLS, Ladder, analyzed, finished
from worker.ratings.analysis import records_kept_ms
from worker.ratings.outcome import Kind, Outcome
from worker.ratings.wire import complete
from worker.tables.connect import connect
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.redis import RedisTables
from worker.tables.tables import Partition

NAMES = ["ann", "bob", "cem"]
PAIRS = st.sampled_from([(one, other) for one in NAMES for other in NAMES if one != other])
MATCH_IDS = st.sampled_from([f"m-{number}" for number in range(4)])
PRS = st.sampled_from([None, 4.0, 9.0])
INSTANTS = st.integers(-2, 2).map(lambda hours: AT + hours * HOUR)
WORKERS = st.sampled_from([0, 1])


@st.composite
def matches(draw: st.DrawFn) -> Any:
    winner, loser = draw(PAIRS)
    mode = draw(st.sampled_from(["rating", "rating", "rating", "casual"]))
    return finished(
        "blitzgammon", draw(MATCH_IDS), winner, loser, at=draw(INSTANTS), mode=mode, prs=(draw(PRS), draw(PRS))
    )


@st.composite
def analyses(draw: st.DrawFn) -> Any:
    prs = draw(PRS), draw(PRS)
    return analyzed(
        "blitzgammon", draw(MATCH_IDS), prs, draw(st.integers(1, 4)), players=draw(PAIRS), at=draw(INSTANTS)
    )


EVENTS = st.lists(st.one_of(matches(), analyses()), min_size=1, max_size=5)
EVERYTHING = [
    *(finished("blitzgammon", f"m-{number}", "ann", "bob") for number in range(4)),
    finished("blitzgammon", "m-0", "cem", "bob"),
]


KEPT_MS = records_kept_ms(POOLS["blitzgammon"].rules)


class Twins(RuleBasedStateMachine):
    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.client = connect(self.url)
        store, namespace = MemoryStore(), f"t{secrets.token_hex(6)}"
        self.desks = []
        for run in ("run-1", "run-2"):
            memory = MemoryTables(store, "blitzgammon", run, KEPT_MS)
            redis = RedisTables(self.client, namespace, "blitzgammon", run, KEPT_MS)
            self.desks.append((Desk("blitzgammon", memory), Desk("blitzgammon", redis)))
        self.pending: list[list[Any]] = [[], []]
        self.sent: list[Any] = []
        self.committed: list[tuple[int, Any]] = []
        self.unsettled: list[Any] = []
        self.pruned = False

    def teardown(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.close()

    def both(self, what: Any, worker: int = 0) -> Any:
        """Ask both kinds of tables; return their one answer."""
        in_memory, in_redis = (self.loop.run_until_complete(what(desk)) for desk in self.desks[worker])
        assert in_memory == in_redis
        return in_memory

    @rule(worker=WORKERS, events=EVENTS)
    @precondition(lambda self: not all(self.pending))
    def decide(self, worker: int, events: Any) -> None:
        if self.pending[worker]:
            return
        for desk in self.desks[worker]:
            desk.offsets = count(len(self.sent))
        self.sent += events
        self.pending[worker] = self.both(lambda desk: desk.decide(*events), worker)

    @rule(worker=WORKERS)
    @precondition(lambda self: any(self.pending))
    def commit(self, worker: int) -> None:
        causes, self.pending[worker] = self.pending[worker], []
        answer = self.both(lambda desk: _committed(desk, causes), worker)
        for cause, position in zip(causes, answer[0], strict=True):
            if position is not None:
                self.committed.append((position, cause))
                if cause.messages:
                    self.unsettled.append(cause.source)

    @rule(data=st.data())
    @precondition(lambda self: self.unsettled)
    def settle(self, data: Any) -> None:
        source = data.draw(st.sampled_from(self.unsettled))
        self.unsettled.remove(source)

        async def settled(desk: Desk) -> object:
            await desk.tables.settle([source], [])
            return await desk.tables.outbox_size()

        assert self.both(settled) == len(self.unsettled)

    @rule(hours=st.integers(-2, 1))
    def raise_horizon(self, hours: int) -> None:
        self.both(lambda desk: desk.tables.raise_horizon(AT + hours * HOUR))

    @rule()
    def prune(self) -> None:
        self.pruned = True
        self.both(lambda desk: desk.prune())

    @invariant()
    def holds_the_same(self) -> None:
        sources = [cause.source for _, cause in self.committed]
        partitions = [Partition("match-finished", 0)]

        async def everything(desk: Desk) -> object:
            loaded = await desk.load(*EVERYTHING, sources=sources, partitions=partitions)
            outbox = sorted(loaded.outbox, key=lambda entry: str(entry.source))
            shown = await desk.tables.leaderboard(1, 9)
            return loaded._replace(outbox=outbox), shown, [await desk.tables.around(name, 2) for name in NAMES]

        self.both(everything)

    @invariant()
    def is_what_a_replay_by_position_gives(self) -> None:
        if self.pruned:
            return
        changes = sorted(((at, cause) for at, cause in self.committed if at), key=lambda change: change[0])
        ladder = Ladder()
        for _, cause in changes:
            event = self.sent[cause.source.offset]
            if cause.outcome.kind is Kind.RATED:
                self.park(ladder, cause.outcome)
            ladder.send(event)
        published = [
            orjson.loads(complete(message, position).value)
            for position, cause in changes
            for message in cause.messages
            if message.takes_position
        ]
        assert ladder.values() == published

    def park(self, ladder: Ladder, rated: Outcome) -> None:
        """Send what had settled the match when it came, as its events name it."""
        replaced, revision = rated.parked.replaces, rated.record.record.rated.revision
        for analysis in replaced.analyses if replaced else ():
            if analysis.revision == revision and analysis.pair() == set(rated.players):
                ladder.send(self.sent[analysis.delivery.source.offset])


async def _committed(desk: Desk, causes: Any) -> object:
    answer = await desk.commit(causes)
    return list(answer.positions), [(entry.source, entry.position, list(entry.messages)) for entry in answer.rests_on]


def test_the_twins_never_differ(redis_server):
    machine = type("TwinsHere", (Twins,), {"url": redis_server.url})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=60, stateful_step_count=25),
    )
