"""A state machine of two workers on one pool, in memory and in Redis alike, held against a model of the rules.

A worker decides at one moment and commits at another, so that whatever can be stale is stale in some run.
"""

import asyncio
import copy
import json
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from jsonschema_rs import Draft202012Validator

from tests.contract.ledger import Answer, Ledger, Sent
from tests.ratings.ladder import topic_of
from worker.files import packaged
from worker.ratings.analysis import records_kept_ms
from worker.ratings.decide import decide
from worker.ratings.delivery import Delivery, Source
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.ratings.wire import complete, messages
from worker.rules.pools import Pool
from worker.stream.apply import state_of, wanted_for
from worker.stream.decode import Decoded
from worker.tables.connect import connect
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.redis import RedisTables
from worker.tables.tables import Cause, Committed, Loaded, PoolTables, Wanted

SCHEMA = Draft202012Validator(json.loads(packaged("schemas/rating-changed.schema.json").read_bytes()))
WORKERS = st.sampled_from([0, 1])
BATCHES = st.runner().flatmap(lambda machine: st.lists(machine.sending(), min_size=1, max_size=4))


class Pending(NamedTuple):
    """A batch that is decided and not committed: what was true then, and how many commits there had been."""

    batch: Sequence[Sent]
    causes: Sequence[Cause]
    expected_then: Sequence[Answer]
    writes: int


class Pair:
    """One worker's tables of both kinds, which must never differ."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: Pool, kinds: Sequence[PoolTables]) -> None:
        self._loop = loop
        self._pool = pool
        self._kinds = kinds

    def ask(self, what: Callable[[PoolTables], Awaitable[Any]]) -> Any:
        """Return the one answer of both."""
        in_memory, in_redis = (self._loop.run_until_complete(what(tables)) for tables in self._kinds)
        assert in_memory == in_redis
        return in_memory

    def decide(self, batch: Sequence[Sent], offset: int) -> list[Cause]:
        """Load and decide; the first event's record has this offset."""
        pool = self._pool
        events = [
            Decoded(_delivery(sent, number), sent.event, pool.name, None, 0)
            for number, sent in enumerate(batch, offset)
        ]
        needs = wanted_for(pool, events)._replace(sources=(), partitions=())

        async def loaded(tables: PoolTables) -> Loaded:
            return await tables.load(needs)

        state, causes = state_of(self.ask(loaded)), []
        for decoded in events:
            outcome = decide(pool.rules, decoded.event, decoded.delivery, state)
            causes.append(Cause(decoded.delivery.source, outcome, messages(pool.name, outcome, "")))
        return causes

    def commit(self, causes: Sequence[Cause]) -> Sequence[int | None]:
        """Commit, and return the positions."""

        async def committed(tables: PoolTables) -> Committed:
            return await tables.commit(tables.prepare(causes))

        positions: Sequence[int | None] = self.ask(committed).positions
        return positions


def _delivery(sent: Sent, offset: int) -> Delivery:
    return Delivery(Source(topic_of(sent.event), 0, offset), sent.timestamp_ms, b"k", b"{}")


class TwoWorkers(RuleBasedStateMachine):
    """Subclasses say which events are sent to which pool, and what is right; `url` is the Redis to do it on."""

    url: ClassVar[str] = ""
    pool: ClassVar[Pool]
    horizons: ClassVar[st.SearchStrategy[int]]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.client = connect(self.url)
        store, namespace, name = MemoryStore(), f"t{secrets.token_hex(6)}", self.pool.name
        kept_ms = records_kept_ms(self.pool.rules)
        self.workers = [
            Pair(
                self.loop,
                self.pool,
                (MemoryTables(store, name, run, kept_ms), RedisTables(self.client, namespace, name, run, kept_ms)),
            )
            for run in ("run-1", "run-2")
        ]
        self.pending: list[Pending | None] = [None, None]
        self.model = self.ledger()
        self.sent: list[Sent] = []
        self.published: list[dict[str, Any]] = []
        self.offset = self.position = self.writes = 0

    def ledger(self) -> Ledger:
        """Return the model of a pool where nothing has happened yet."""
        raise NotImplementedError

    def events(self) -> st.SearchStrategy[Sent]:
        """Return what may be sent."""
        raise NotImplementedError

    def sending(self) -> st.SearchStrategy[Sent]:
        """Return what may be sent now: mostly something new, else the very same again."""
        new = self.events()
        return st.one_of(new, new, new, st.sampled_from(self.sent)) if self.sent else new

    def teardown(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.close()

    @rule(worker=WORKERS, batch=BATCHES)
    @precondition(lambda self: not all(self.pending))
    def decide(self, worker: int, batch: list[Sent]) -> None:
        if self.pending[worker] is None:
            self.pending[worker] = self._decided(worker, batch)

    @rule(worker=WORKERS)
    @precondition(lambda self: any(self.pending))
    def commit(self, worker: int) -> None:
        pending, self.pending[worker] = self.pending[worker], None
        if pending is not None:
            stale = self._commit(worker, pending)
            assert self._commit(worker, self._decided(worker, stale)) == [], "nobody was in between"

    @rule(worker=WORKERS, batch=BATCHES)
    def send(self, worker: int, batch: list[Sent]) -> None:
        if self.pending[worker] is None:
            assert self._commit(worker, self._decided(worker, batch)) == [], "nobody was in between"

    @rule(horizon_ms=st.runner().flatmap(lambda machine: machine.horizons))
    def raise_horizon(self, horizon_ms: int) -> None:
        async def raised(tables: PoolTables) -> int:
            return await tables.raise_horizon(horizon_ms)

        self.model.horizon_ms = self.workers[0].ask(raised)
        self.writes += 1

    def _decided(self, worker: int, batch: Sequence[Sent]) -> Pending:
        causes = self.workers[worker].decide(batch, self.offset)
        self.offset += len(batch)
        self.sent += batch
        as_it_stands = copy.deepcopy(self.model)
        return Pending(batch, causes, [as_it_stands.answer(sent) for sent in batch], self.writes)

    def _commit(self, worker: int, pending: Pending) -> list[Sent]:
        """Commit, hold everything written against the model, and return what was stale."""
        positions = self.workers[worker].commit(pending.causes)
        alone = pending.writes == self.writes
        assert not alone or None not in positions, "stale, and nobody was in between"
        self.writes += 1
        stale = []
        for sent, cause, then, position in zip(
            pending.batch, pending.causes, pending.expected_then, positions, strict=True
        ):
            if position is None:
                stale.append(sent)
            else:
                self._check(sent, cause, then, position)
        return stale

    def _check(self, sent: Sent, cause: Cause, then: Answer, position: int) -> None:
        outcome = cause.outcome
        changes = [orjson.loads(complete(one, position).value or b"") for one in cause.messages if one.takes_position]
        told = (
            outcome.kind,
            [{name: value for name, value in change.items() if name != "position"} for change in changes],
            [letter.refusal.reason for letter in outcome.letters],
        )
        assert told == _listed(then)
        if outcome.rows or outcome.record or outcome.parked:
            assert told == _listed(self.model.answer(sent))
        self.position += bool(changes)
        assert position == (self.position if changes else 0)
        assert [change["position"] for change in changes] == [position] * len(changes)
        for change in changes:
            SCHEMA.validate(change)
        self.published += changes

    @invariant()
    def rows_and_leaderboard_are_what_the_rules_make_of_it(self) -> None:
        async def everything(tables: PoolTables) -> Any:
            return (await tables.load(Wanted(list(self.model.players)))).rows, await tables.leaderboard(1, 20)

        rows, page = self.workers[0].ask(everything)
        assert {
            name: (row.seq, row.rating, row.rated_games, row.newest_finished_at_ms, row.retired)
            for name, row in rows.items()
        } == self.model.rows()
        assert [(place.player_id, place.row.rating) for place in page.places] == self.model.shown()
        assert page.players == len(page.places)

    @invariant()
    def chains_are_whole(self) -> None:
        last: defaultdict[str, tuple[int, Any]] = defaultdict(lambda: (0, self.model.start))
        for change in self.published:
            assert change["before"] + change["change"] == change["after"]
            assert (change["seq"] - 1, change["before"]) == last[change["player_id"]]
            last[change["player_id"]] = change["seq"], change["after"]
        event_ids = [change["event_id"] for change in self.published]
        assert len(set(event_ids)) == len(event_ids)


def _listed(answer: Answer) -> tuple[Kind, list[dict[str, Any]], list[Reason]]:
    return answer.kind, list(answer.changes), list(answer.reasons)


def run_on(url: str, machine: type[TwoWorkers], examples: int, steps: int = 25) -> None:
    """Run a machine against the Redis at `url`."""
    run_state_machine_as_test(
        type(f"{machine.__name__}Here", (machine,), {"url": url}),
        settings=settings(max_examples=examples, stateful_step_count=steps),
    )
