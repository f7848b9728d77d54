"""Taking entries out of the outbox, and the markers of partitions."""

import pytest
from msgspec.structs import replace

from tests.contract.stores import contract
from tests.ratings.ladder import AT, finished
from worker.ratings.delivery import Source
from worker.ratings.outcome import refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.wire import messages
from worker.tables.errors import HoleError, LostWritesError
from worker.tables.tables import SETTLED, Cause, Marker, Partition

MATCHES = Partition("match-finished", 0)
OTHERS = Partition("match-finished", 1)


def match(match_id, winner="ann", loser="bob"):
    return finished("season0", match_id, winner, loser)


async def committed(desk, *match_ids):
    causes = await desk.decide(*(match(match_id) for match_id in match_ids))
    await desk.commit(causes)
    return [cause.source for cause in causes]


@contract("season0")
async def test_settling_removes_entries_and_moves_markers(here, there):
    sources = await committed(here, "m-1", "m-2", "m-3")
    await here.tables.settle(sources[:2], [Marker(MATCHES, 2, 123)])
    assert await there.tables.outbox_size() == 1
    assert dict(await there.tables.markers()) == {MATCHES: Marker(MATCHES, 2, 123)}
    assert (await there.load(partitions=[MATCHES])).applied == {MATCHES: 2}


@contract("season0")
async def test_thousands_are_settled_at_once(here, there):
    sources = await committed(here, *(f"m-{number}" for number in range(9_000)))
    await there.tables.settle(sources, [Marker(MATCHES, 9_000, 1)])
    assert await here.tables.outbox_size() == 0


@contract("season0")
async def test_markers_only_move_forward(here, there):
    await here.tables.settle([], [Marker(MATCHES, 7, 700), Marker(OTHERS, 3, 300)])
    await there.tables.settle([], [Marker(MATCHES, 5, 800), Marker(OTHERS, 4, 200)])
    markers = await here.tables.markers()
    assert dict(markers) == {MATCHES: Marker(MATCHES, 7, 800), OTHERS: Marker(OTHERS, 4, 300)}


@contract("season0")
async def test_settling_twice_is_fine_once_the_marker_has_passed(here, there):
    sources = await committed(here, "m-1")
    for desk in (here, there):
        await desk.tables.settle(sources, [Marker(MATCHES, 1, believed=0)])
    assert (await here.load(partitions=[MATCHES])).applied == {MATCHES: 1}


@contract("season0")
async def test_an_entry_that_is_gone_while_the_marker_stands_before_it_means_lost_writes(here, there):
    sources = await committed(here, "m-1", "m-2")
    lost = Source("match-finished", 0, 17)
    with pytest.raises(LostWritesError, match=r"season0.*match-finished.*0.*17"):
        await here.tables.settle([*sources, lost], [Marker(MATCHES, 18), Marker(OTHERS, 1)])
    assert await there.tables.outbox_size() == 2
    assert dict(await there.tables.markers()) == {}


@contract("season0")
async def test_the_last_source_before_the_marker_is_passed_and_the_one_on_it_is_not(here, there):
    await here.tables.settle([], [Marker(MATCHES, 5)])
    await here.tables.settle([Source("match-finished", 0, 4)], [])
    with pytest.raises(LostWritesError):
        await here.tables.settle([Source("match-finished", 0, 5)], [])
    with pytest.raises(LostWritesError):
        await here.tables.settle([Source("match-finished", 1, 4)], [])


@contract("season0")
async def test_a_marker_behind_what_was_confirmed_means_lost_writes(here, there):
    sources = await committed(here, "m-1")
    await here.tables.settle([], [Marker(MATCHES, 5)])
    with pytest.raises(LostWritesError, match=r"season0.*match-finished.*0.*5.*6"):
        await here.tables.settle(sources, [Marker(OTHERS, 9), Marker(MATCHES, 9, believed=6)])
    assert await there.tables.outbox_size() == 1
    assert dict(await there.tables.markers()) == {MATCHES: Marker(MATCHES, 5)}
    await here.tables.settle(sources, [Marker(MATCHES, 9, believed=5)])


@contract("season0")
async def test_a_marker_never_moves_over_what_was_not_read(here, there):
    await here.tables.begin([Marker(OTHERS, 5)])
    sources = await committed(here, "m-1")
    with pytest.raises(HoleError):
        await here.tables.settle(sources, [Marker(OTHERS, 9, begin=5), Marker(MATCHES, 9, begin=1)])
    assert {name: marker.applied for name, marker in (await there.tables.markers()).items()} == {OTHERS: 5}
    assert await there.tables.outbox_size() == 1
    await here.tables.settle(sources, [Marker(OTHERS, 9, begin=4), Marker(MATCHES, 9, begin=0)])
    assert {name: marker.applied for name, marker in (await there.tables.markers()).items()} == {MATCHES: 9, OTHERS: 9}


@contract("season0")
async def test_beginning_gives_a_first_marker_and_no_second(here, there):
    await here.tables.begin([Marker(MATCHES, 3), Marker(OTHERS, 0)])
    await there.tables.begin([Marker(MATCHES, 9), Marker(OTHERS, 9)])
    assert {name: marker.applied for name, marker in (await here.tables.markers()).items()} == {MATCHES: 3, OTHERS: 0}


@contract("season0")
async def test_a_partition_that_stands_at_its_first_offset_gets_no_marker_by_settling(here, there):
    await here.tables.settle([], [Marker(MATCHES, 0, 0)])
    assert dict(await there.tables.markers()) == {}


@contract("season0")
async def test_offsets_beyond_32_bits_keep_every_digit(here, there):
    far = 2**53 - 3
    await here.tables.settle([], [Marker(MATCHES, far, AT)])
    await here.tables.settle([Source("match-finished", 0, far - 1)], [Marker(MATCHES, far + 1, AT, far)])
    assert (await there.tables.markers())[MATCHES].applied == far + 1
    with pytest.raises(LostWritesError, match=str(far + 2)):
        await here.tables.settle([], [Marker(MATCHES, far + 2, AT, far + 2)])


@contract("season0")
async def test_the_horizon_only_moves_forward(here, there):
    assert await here.tables.raise_horizon(-1) == 0
    assert await here.tables.raise_horizon(AT) == AT
    assert await there.tables.raise_horizon(AT - 1) == AT
    assert (await there.load()).horizon_ms == AT
    assert await there.tables.raise_horizon(AT + 1) == AT + 1


def letter(desk):
    """A dead letter of the desk's next record, which is decided on nothing."""
    delivery = desk.delivery(match("m-1"))
    outcome = refuse("", (), AT, delivery, Refusal(Reason.SCHEMA, "It does not fit."))
    return Cause(delivery.source, outcome, messages(desk.pool, outcome, ""))


@contract("season0")
async def test_a_letter_that_was_settled_is_not_committed_again_by_whoever_comes_late(here, there):
    again, new = letter(here), letter(here)
    await there.commit([again])
    await there.tables.settle([again.source], [Marker(MATCHES, again.source.offset + 1)])
    assert (await here.commit([again, new])).positions == [SETTLED, 0]
    assert await there.tables.outbox_size() == 1
    await here.tables.settle([new.source], [Marker(MATCHES, new.source.offset + 1)])
    assert await there.tables.outbox_size() == 0


@contract("season0")
async def test_what_was_decided_on_top_of_a_settled_cause_is_decided_again(here, there):
    causes = await here.decide(match("m-1", "ann", "bob"), match("m-2", "ann", "carl"), match("m-3", "eve", "fay"))
    [theirs] = await there.decide(match("m-1", "bob", "ann"))
    await there.commit([replace(theirs, source=causes[0].source)])
    await there.tables.settle([causes[0].source], [Marker(MATCHES, causes[0].source.offset + 1)])
    assert (await here.commit(causes)).positions == [SETTLED, None, 2]
