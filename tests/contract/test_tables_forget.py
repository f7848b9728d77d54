"""What may be pruned is as if it were: no answer depends on when pruning runs."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.stores import Desk, contract
from tests.ratings.ladder import AT, DAY, HOUR, POOLS, analyzed, finished
from worker.ratings.analysis import records_kept_ms
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.ratings.wire import messages
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import Cause

RETENTION = POOLS["blitzgammon"].rules.retention_days * DAY


async def answer(desk, event, published_after=HOUR):
    """Answer one event that was published so long after its instant; return what it was, and every letter's reason."""
    instant = event.analyzed_at_ms if hasattr(event, "analyzed_at_ms") else event.finished_at_ms
    delivery = desk.delivery(event, instant + published_after)
    for _ in range(3):
        outcome = await desk.decide_one(event, delivery)
        committed = await desk.commit([Cause(delivery.source, outcome, messages(desk.pool, outcome, ""))])
        if committed.positions != [None]:
            return outcome.kind, [letter.refusal.reason for letter in outcome.letters]
    raise AssertionError(f"{event} stays stale")


@pytest.mark.parametrize("prunes", [False, True])
def test_an_analysis_of_a_match_from_before_the_horizon_is_too_late_whether_or_not_it_was_pruned(store, prunes):
    async def body(here, there):
        await here.send(finished("blitzgammon", "m-1", "ann", "bob"))
        await there.tables.raise_horizon(AT + DAY)
        if prunes:
            await there.prune()
        late = analyzed("blitzgammon", "m-1", (9.0, 3.0), at=AT + RETENTION + 2 * DAY)
        assert await answer(here, late) == (Kind.REFUSED, [Reason.TOO_LATE])

    store.run(body, "blitzgammon")


@pytest.mark.parametrize("prunes", [False, True])
@pytest.mark.parametrize("pool", ["gammon42", "blitzgammon"])
def test_a_match_id_that_is_no_longer_remembered_is_a_new_match(store, pool, prunes):
    async def body(here, there):
        await here.send(finished(pool, "m-1", "ann", "bob"))
        horizon = AT + 1 + records_kept_ms(POOLS[pool].rules)
        await there.tables.raise_horizon(horizon)
        if prunes:
            await there.prune()
        again = finished(pool, "m-1", "carl", "dora", at=horizon)
        assert await answer(here, again) == (Kind.RATED, [])
        await there.prune()
        assert await answer(there, again) == (Kind.DUPLICATE, [])
        record = (await there.load(again)).records["m-1"]
        assert (record.position, record.content.winner.id) == (2, "carl")

    store.run(body, pool)


@pytest.mark.parametrize("prunes", [False, True])
def test_parked_analyses_that_may_be_pruned_settle_nothing(store, prunes):
    async def body(here, there):
        await answer(here, analyzed("blitzgammon", "m-1", (9.0, 3.0), at=AT))
        await there.tables.raise_horizon(AT + HOUR)
        if prunes:
            await there.prune()
        match = finished("blitzgammon", "m-1", "ann", "bob", at=AT + 2 * HOUR)
        assert await answer(here, match) == (Kind.RATED, [])
        record = (await there.load(match)).records["m-1"]
        assert record.rated.revision is None

    store.run(body, "blitzgammon")


@contract("blitzgammon")
async def test_an_analysis_is_parked_anew_over_one_that_may_be_pruned(here, there):
    await answer(here, analyzed("blitzgammon", "m-1", (9.0, 3.0), at=AT))
    await there.tables.raise_horizon(AT + HOUR)
    again = analyzed("blitzgammon", "m-1", (1.0, 3.0), at=AT + 2 * HOUR)
    assert await answer(here, again) == (Kind.PARKED, [])
    assert [one.analyzed_at_ms for one in (await there.load(again)).parked["m-1"].analyses] == [AT + 2 * HOUR]


IDS = st.sampled_from(["m-1", "m-2", "m-3"])
DAYS = st.integers(0, 100)
PLAYERS = st.sampled_from([("ann", "bob"), ("bob", "ann"), ("ann", "carl")])
STEPS = st.one_of(
    st.tuples(st.just("match"), IDS, PLAYERS, DAYS, st.integers(0, 30)),
    st.tuples(st.just("analysis"), IDS, PLAYERS, DAYS, st.integers(0, 30)),
    st.tuples(st.just("horizon"), IDS, PLAYERS, DAYS, st.integers(0, 30)),
)


async def _history(steps, *, prunes):
    kept_ms = records_kept_ms(POOLS["blitzgammon"].rules)
    desk = Desk("blitzgammon", MemoryTables(MemoryStore(), "blitzgammon", "run", kept_ms))
    answers = []
    for what, match_id, players, day, published_after in steps:
        at = AT + day * DAY
        if what == "horizon":
            await desk.tables.raise_horizon(at)
            if prunes:
                await desk.prune()
            continue
        event = (
            finished("blitzgammon", match_id, *players, at=at)
            if what == "match"
            else analyzed("blitzgammon", match_id, (9.0, 3.0), players=players, revision=1 + day % 3, at=at)
        )
        answers.append(await answer(desk, event, published_after * DAY))
    return answers, {player: await _rating(desk, player) for player in ("ann", "bob", "carl")}


async def _rating(desk, player_id):
    row = (await desk.tables.around(player_id, 1)).row
    return None if row is None else (row.rating, row.seq)


@given(st.lists(STEPS, max_size=12))
def test_no_answer_depends_on_when_pruning_runs(steps):
    assert asyncio.run(_history(steps, prunes=True)) == asyncio.run(_history(steps, prunes=False))
