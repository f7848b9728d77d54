"""What a batch does to one pool, on tables in memory."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.integration.writing.traffic import decoded
from tests.ratings.ladder import AT, HOUR, POOLS, analyzed, finished, topic_of
from worker.ratings.delivery import Source
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason, Refusal
from worker.stream.apply import Progress, Target, apply, commit, decide_all, load
from worker.tables.errors import LostWritesError
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.tables import Marker, Partition

MATCHES = Partition("match-finished", 0)
NOTHING = Progress(0, {})


def match(number, winner="ann", loser="bob", **changed):
    return at_offset(number, finished("blitzgammon", f"m-{number}", winner, loser, **changed))


def at_offset(offset, event, partition=0):
    return decoded(event, Source(topic_of(event), partition, offset))


def target(store, run="run-1", pool="blitzgammon"):
    return Target(pool, POOLS.get(pool), MemoryTables(store, pool, run), "")


def do(store, events, progress=NOTHING, run="run-1"):
    return asyncio.run(apply(target(store, run), events, progress))


def kinds(applied):
    return [outcome.kind for _, outcome in applied.outcomes]


def players(applied):
    return [message.key.decode().split(":")[1] for message in applied.messages if message.topic == "rating-changed"]


def test_a_batch_is_published_in_order_and_settles_what_it_published():
    store = MemoryStore()
    applied = do(
        store, [match(0), match(0), match(1, "bob", "cem"), at_offset(9, finished("blitzgammon", "m-0", "x", "y"))]
    )
    assert kinds(applied) == [Kind.RATED, Kind.DUPLICATE, Kind.RATED, Kind.REFUSED]
    assert [message.topic for message in applied.messages] == ["rating-changed"] * 4 + ["match-finished.dlt"]
    assert [source.offset for source in applied.sources] == [0, 1, 9]
    assert (applied.position, applied.conflicts, applied.repeated, applied.skipped) == (2, 0, 0, 0)


def test_what_is_below_the_marker_is_skipped():
    store = MemoryStore()
    first = do(store, [match(0), match(1)])
    asyncio.run(target(store).tables.settle(first.sources, [Marker(MATCHES, 2)]))
    again = do(store, [match(0, "x", "y"), match(1), match(2)], run="run-2")
    assert (again.skipped, again.repeated, kinds(again)) == (2, 0, [Kind.RATED])
    assert [source.offset for source in again.sources] == [2]


def test_what_another_run_committed_is_published_again_byte_for_byte_and_settled():
    store = MemoryStore()
    first = do(store, [match(0), match(1, "bob", "cem")])
    again = do(store, [match(0), match(1, "bob", "cem"), match(2, "cem", "ann")], run="run-2")
    assert (again.repeated, kinds(again)) == (2, [Kind.RATED])
    assert again.messages[:4] == first.messages
    assert [source.offset for source in again.sources] == [0, 1, 2]
    asyncio.run(target(store).tables.settle(again.sources, [Marker(MATCHES, 3)]))
    assert asyncio.run(target(store).tables.outbox_size()) == 0


def test_what_it_rests_on_is_published_first_and_left_to_its_owner():
    store = MemoryStore()
    do(store, [at_offset(0, finished("blitzgammon", "m-a", "ann", "bob"), 1)])
    do(store, [at_offset(1, finished("blitzgammon", "m-b", "bob", "cem"), 1)])
    applied = do(store, [match(0, "cem", "dee")], run="run-2")
    assert players(applied) == ["ann", "bob", "bob", "cem", "cem", "dee"]
    assert [source.partition for source in applied.sources] == [0]


def test_what_is_stale_is_decided_again_until_it_holds():
    async def meddled():
        store = MemoryStore()
        events = [match(0), match(1, "bob", "cem"), match(2, "x", "y")]
        here, there = target(store), target(store, "run-2")
        decided = await decide_all(here, events, await load(here, events, NOTHING), None)
        other = at_offset(0, finished("blitzgammon", "m-0", "bob", "ann", at=AT - HOUR), 1)
        await apply(there, [other], NOTHING)
        done, _ = await commit(here, decided, (), NOTHING)
        return done

    applied = asyncio.run(meddled())
    assert applied.conflicts == 2
    assert [(source.offset, outcome.kind) for source, outcome in applied.outcomes] == [
        (2, Kind.RATED),
        (0, Kind.REFUSED),
        (1, Kind.RATED),
    ]
    assert players(applied)[-2:] == ["bob", "cem"]
    first = next(message for message in applied.messages if message.key == b"blitzgammon:bob")
    assert first.value.endswith(b'"position":1}'), "the other worker's match must come before what rests on it"


def test_a_batch_decided_on_top_of_the_one_before_sees_it():
    async def ahead():
        here = target(MemoryStore())
        first, second = [match(0), match(1)], [match(1), match(2), at_offset(0, analyzed("blitzgammon", "m-1", (9, 4)))]
        before = await decide_all(here, first, await load(here, first, NOTHING), None)
        following = await decide_all(here, second, await load(here, second, NOTHING), before)
        first_done, _ = await commit(here, before, (), NOTHING)
        second_done, _ = await commit(here, following, (), NOTHING)
        return first_done, second_done

    before, following = asyncio.run(ahead())
    assert (before.conflicts, following.conflicts) == (0, 0)
    assert kinds(following) == [Kind.DUPLICATE, Kind.RATED, Kind.SETTLED]
    assert following.position == 4


def test_tables_behind_what_they_had_confirmed_have_lost_writes():
    store = MemoryStore()
    do(store, [match(0)])
    asyncio.run(target(store).tables.begin([Marker(MATCHES, 0)]))
    do(store, [match(1)], Progress(1, {MATCHES: 0}))
    with pytest.raises(LostWritesError, match=r"blitzgammon.*position 2.*3"):
        do(store, [match(2)], Progress(3, {}))
    with pytest.raises(LostWritesError, match=r"blitzgammon.*match-finished.*offset 0.*1"):
        do(store, [match(2)], Progress(2, {MATCHES: 1}))
    assert store.position == 2


def test_what_names_no_pool_becomes_a_letter():
    refused = replace(match(0), event=None, pool=None, refusal=Refusal(Reason.UNKNOWN_POOL, "No such pool."))
    applied = asyncio.run(apply(target(MemoryStore(), pool="-"), [refused], NOTHING))
    assert [message.topic for message in applied.messages] == ["match-finished.dlt"]
    assert [source.offset for source in applied.sources] == [0]


def test_behind_the_horizon_too_late_comes_before_an_unpublished_formula():
    store = MemoryStore()
    store.horizon_ms = AT + 1
    reasons = []
    for offset, reason in enumerate((Reason.UNPUBLISHED_FORMULA, Reason.SELF_MATCH)):
        applied = do(store, [replace(match(offset), event=None, refusal=Refusal(reason, "Why."))])
        reasons.append(dict(applied.messages[0].headers)["dlt-reason"])
    assert reasons == [b"too-late", b"self-match"]
