"""What every kind of tables gives back."""

from msgspec.structs import replace

from tests.contract.stores import WINDOW_MS, contract, wanted
from tests.ratings.ladder import AT, SECOND, analyzed, finished
from worker.ratings.delivery import Source
from worker.tables.tables import Marker, Partition, Wanted

MATCHES = Partition("match-finished", 0)


def game(match_id, winner="ann", loser="bob", at=AT, **changed):
    return finished("gammon42", match_id, winner, loser, at=at, **changed)


async def games(desk, player_id, at, match_id):
    loaded = await desk.tables.load(Wanted([player_id], games=[(player_id, at, match_id)], window_ms=WINDOW_MS))
    return loaded.games[player_id, at, match_id]


@contract("gammon42")
async def test_an_empty_pool_has_nothing(here, there):
    sources, partitions = [Source("match-finished", 0, 1)], [MATCHES]
    loaded = await here.load(game("m-1"), sources=sources, partitions=partitions)
    assert (loaded.rows, loaded.records, loaded.parked) == ({}, {}, {})
    assert (list(loaded.outbox), dict(loaded.applied), loaded.horizon_ms, loaded.position) == ([], {}, 0, 0)
    assert dict(loaded.games) == {("ann", AT, "m-1"): 0, ("bob", AT, "m-1"): 0}


@contract("gammon42")
async def test_nothing_wanted_is_nothing_loaded(here, there):
    await here.send(game("m-1"))
    loaded = await here.tables.load(Wanted())
    assert (loaded.rows, loaded.records, loaded.parked, dict(loaded.games)) == ({}, {}, {}, {})
    assert loaded.position == 1


@contract("gammon42")
async def test_rows_and_records_come_back_as_they_were_written(here, there):
    first = game("m-1", win_type="gammon", end_reason="left", formula_version="1.2.0", cube=64)
    [rated] = await here.send(first)
    [excluded] = await here.send(game("m-2", mode="boosted"))
    loaded = await there.load(first, game("m-2"), game("m-3", "cem", "dee"))
    assert loaded.rows == {player_id: row for player_id, row, _ in rated.rows}
    assert loaded.records == {
        "m-1": replace(rated.record.record, position=1),
        "m-2": excluded.record.record,
    }


@contract("blitzgammon")
async def test_what_is_parked_comes_back_byte_for_byte(here, there):
    analysis = analyzed("blitzgammon", "m-1", (1e-7, None), 3)
    await here.send(analysis)
    [parked] = await here.send(replace(analysis, revision=2**31 - 1))
    assert (await there.load(analysis)).parked == {"m-1": parked.parked.parked}


@contract("gammon42")
async def test_a_thousand_players_and_matches_come_in_one_load(here, there):
    events = [game(f"m-{number}", f"w-{number}", f"l-{number}", AT + number) for number in range(5_000)]
    for first in range(0, len(events), 1_000):
        await here.send(*events[first : first + 1_000])
    loaded = await there.tables.load(wanted("gammon42", events))
    assert (len(loaded.rows), len(loaded.records), loaded.position) == (10_000, 5_000, 5_000)
    assert set(loaded.games.values()) == {0}


class TestTheWindow:
    @staticmethod
    def test_begins_168_hours_before_inclusive(store):
        async def body(here, there):
            await here.send(game("m-1", at=AT - WINDOW_MS - 1), game("m-2", at=AT - WINDOW_MS), game("m-3", at=AT - 1))
            assert await games(there, "ann", AT, "m-4") == 2
            assert await games(there, "ann", AT - 1, "m-4") == 3
            assert await games(there, "ann", AT + 1, "m-4") == 1

        store.run(body, "gammon42")

    @staticmethod
    def test_orders_equal_instants_by_the_bytes_of_the_match_id(store):
        async def body(here, there):
            ids = ["Z", "a", "aa", "\u00e9", "\uffff", "\U0001f3b2", "b\x00", "b"]
            await here.send(*(game(match_id) for match_id in ids))
            for match_id in ["", "A", "a\x00", "ab", "b\x00\x00", "\u00e8", "\ufffe", "\U0001f3b1", "\U0001f3b3", *ids]:
                before = sum(other.encode() < match_id.encode() for other in ids)
                assert await games(there, "ann", AT, match_id) == before, match_id

        store.run(body, "gammon42")

    @staticmethod
    def test_counts_late_matches_in_their_place(store):
        async def body(here, there):
            await here.send(game("m-1"), game("m-3", at=AT + 2 * SECOND))
            await there.send(game("m-2", at=AT + SECOND))
            assert await games(here, "ann", AT + SECOND, "m-2") == 1
            assert await games(here, "ann", AT + 3 * SECOND, "m-4") == 3

        store.run(body, "gammon42")

    @staticmethod
    def test_is_each_players_own(store):
        async def body(here, there):
            await here.send(game("m-1", "ann", "bob"), game("m-2", "ann", "cem"))
            found = await there.load(game("m-9", "ann", "bob", AT + 1))
            assert dict(found.games) == {("ann", AT + 1, "m-9"): 2, ("bob", AT + 1, "m-9"): 1}

        store.run(body, "gammon42")

    @staticmethod
    def test_reaches_from_1970_to_the_last_year(store):
        async def body(here, there):
            first, last = 0, 253_402_300_799_999
            await here.send(game("m-1", at=first, formula_version="1.3.1"), game("m-2", at=last - 1))
            assert await games(there, "ann", first, "m-2") == 1
            assert await games(there, "ann", last, "m-1") == 1
            record = (await there.load(game("m-2"))).records["m-2"]
            assert record.content.finished_at_ms == last - 1

        store.run(body, "gammon42")


class TestTheOutbox:
    @staticmethod
    def test_is_read_by_source_with_everything_that_rests_below_in_order_of_position(store):
        async def body(here, there):
            await here.send(game("m-1", "ann", "bob"))
            await there.send(game("m-2", "bob", "cem"))
            await here.send(game("m-3", "xen", "yan"))
            last = await there.decide(game("m-4", "cem", "dee"))
            await there.commit(last)
            loaded = await here.load(sources=[last[0].source])
            assert [entry.position for entry in loaded.outbox] == [1, 2, 4]
            assert [entry.source.offset for entry in loaded.outbox] == [0, 1, 3]

        store.run(body, "gammon42")

    @staticmethod
    def test_holds_the_very_bytes_with_the_position(store):
        async def body(here, there):
            [cause] = await here.decide(game("m-1"))
            await here.commit([cause])
            [entry] = (await there.load(sources=[cause.source, Source("match-finished", 1, 0)])).outbox
            assert (entry.source, entry.position) == (cause.source, 1)
            for message, stored in zip(cause.messages, entry.messages, strict=True):
                assert stored.value == message.value + b',"position":1}'
                assert (stored.topic, stored.key) == (message.topic, message.key)
                assert list(stored.headers) == list(message.headers)

        store.run(body, "gammon42")

    @staticmethod
    def test_has_nothing_for_what_published_nothing(store):
        async def body(here, there):
            await here.send(game("m-1"))
            [again] = await there.decide(game("m-1"))
            await there.commit([again])
            assert list((await here.load(sources=[again.source])).outbox) == []
            assert await here.tables.outbox_size() == 1

        store.run(body, "gammon42")

    @staticmethod
    def test_leaves_out_what_is_settled(store):
        async def body(here, there):
            first = await here.decide(game("m-1", "ann", "bob"))
            await here.commit(first)
            second = await here.decide(game("m-2", "bob", "cem"))
            await here.commit(second)
            await here.tables.settle([first[0].source], [Marker(MATCHES, 1)])
            assert [entry.position for entry in (await there.load(sources=[second[0].source])).outbox] == [2]

        store.run(body, "gammon42")


@contract("gammon42")
async def test_markers_are_read_for_the_partitions_wanted(here, there):
    await here.tables.begin([Marker(MATCHES, 7), Marker(Partition("match-finished", 1), 8)])
    wanted_partitions = [MATCHES, Partition("match-finished", 2)]
    assert dict((await there.load(partitions=wanted_partitions)).applied) == {MATCHES: 7}
