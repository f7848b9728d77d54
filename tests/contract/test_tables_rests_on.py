"""What a commit hands back: other workers' causes that have to be published before its own."""

from tests.ratings.ladder import analyzed, finished
from worker.tables.tables import Marker, Partition

MATCHES = Partition("match-finished", 0)


def match(match_id, winner="ann", loser="bob", **changed):
    return finished("blitzgammon", match_id, winner, loser, **changed)


def analysis(match_id="m-1", revision=1):
    return analyzed("blitzgammon", match_id, (9.0, 4.0), revision)


class TestWhatACommitRestsOn:
    @staticmethod
    def test_is_handed_back_for_other_runs_in_order_of_position(store):
        async def body(here, there):
            first = await there.decide(match("m-1", "ann", "bob"))
            second = await there.decide(match("m-2", "cem", "dee"))
            await there.commit(second)
            await there.commit(first)
            causes = await here.decide(match("m-3", "ann", "cem"), match("m-4", "dee", "eve"))
            committed = await here.commit(causes)
            assert [entry.source for entry in committed.rests_on] == [second[0].source, first[0].source]
            assert [entry.position for entry in committed.rests_on] == [1, 2]
            assert committed.rests_on[0].messages[0].value.endswith(b',"position":1}')

        store.run(body, "blitzgammon")

    @staticmethod
    def test_is_not_handed_back_for_the_same_run(store):
        async def body(here, there):
            await here.send(match("m-1"))
            causes = await here.decide(match("m-2"), match("m-3"), analysis("m-1"))
            assert list((await here.commit(causes)).rests_on) == []

        store.run(body, "blitzgammon")

    @staticmethod
    def test_is_handed_back_with_what_that_rests_on_in_turn(store):
        async def body(here, there):
            await there.send(match("m-1", "ann", "bob"))
            await there.send(match("m-2", "bob", "cem"))
            await there.send(match("m-3", "cem", "dee"))
            await there.send(match("m-4", "yan", "zed"))
            committed = await here.commit(await here.decide(match("m-5", "dee", "eve")))
            assert [entry.position for entry in committed.rests_on] == [1, 2, 3]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_stops_at_its_own_for_those_had_theirs_handed_back(store):
        async def body(here, there):
            await there.send(match("m-1", "ann", "bob"))
            [own] = await here.decide(match("m-2", "bob", "cem"))
            assert [entry.position for entry in (await here.commit([own])).rests_on] == [1]
            await there.commit(await there.decide(match("m-3", "cem", "dee")))
            committed = await here.commit(await here.decide(match("m-4", "dee", "eve")))
            assert [entry.position for entry in committed.rests_on] == [3]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_leaves_out_what_is_settled(store):
        async def body(here, there):
            [first] = await there.decide(match("m-1", "ann", "bob"))
            await there.commit([first])
            await there.tables.settle([first.source], [Marker(MATCHES, first.source.offset + 1)])
            assert list((await here.commit(await here.decide(match("m-2", "ann", "cem")))).rests_on) == []

        store.run(body, "blitzgammon")

    @staticmethod
    def test_comes_once_for_many_causes(store):
        async def body(here, there):
            await there.send(match("m-1", "ann", "bob"))
            causes = await here.decide(
                match("m-2", "ann", "cem"), match("m-3", "bob", "dee"), match("m-4", "ann", "bob")
            )
            assert [entry.position for entry in (await here.commit(causes)).rests_on] == [1]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_includes_what_an_analysis_of_another_worker_did(store):
        async def body(here, there):
            await here.send(match("m-1"))
            await there.send(analysis("m-1"))
            committed = await here.commit(await here.decide(match("m-2", "ann", "cem")))
            assert [entry.source.topic for entry in committed.rests_on] == ["match-analyzed"]

        store.run(body, "blitzgammon")
