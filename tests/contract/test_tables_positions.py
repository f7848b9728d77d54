"""The order that a commit gives its causes."""

from tests.ratings.ladder import analyzed, finished
from worker.ratings.outcome import Kind


def match(match_id, winner="ann", loser="bob", **changed):
    return finished("blitzgammon", match_id, winner, loser, **changed)


def analysis(match_id="m-1", revision=1):
    return analyzed("blitzgammon", match_id, (9.0, 4.0), revision)


class TestPositions:
    @staticmethod
    def test_are_given_to_causes_with_changes_only(store):
        async def body(here, there):
            causes = await here.decide(
                match("m-1"), match("m-1"), match("m-2", mode="casual"), match("m-3"), analysis("m-4"), analysis("m-3")
            )
            assert [cause.outcome.kind for cause in causes] == [
                Kind.RATED,
                Kind.DUPLICATE,
                Kind.EXCLUDED,
                Kind.RATED,
                Kind.PARKED,
                Kind.SETTLED,
            ]
            assert list((await here.commit(causes)).positions) == [1, 0, 0, 2, 0, 3]
            assert list((await there.commit(await there.decide(match("m-5")))).positions) == [4]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_stay_with_a_match_when_an_analysis_rewrites_its_record(store):
        async def body(here, there):
            await here.send(match("m-1"), match("m-2"), analysis("m-1"))
            assert (await here.load(match("m-1"))).records["m-1"].position == 1
            await there.send(analysis("m-1", 2), analysis("m-2"))
            records = (await here.load(match("m-1"), match("m-2"))).records
            assert (records["m-1"].position, records["m-2"].position) == (1, 2)
            assert records["m-1"].rated.revision == 2

        store.run(body, "blitzgammon")

    @staticmethod
    def test_are_not_used_up_by_what_is_stale(store):
        async def body(here, there):
            causes = await here.decide(match("m-1"), match("m-2", "cem", "dee"))
            await there.send(match("m-3"))
            assert list((await here.commit(causes)).positions) == [None, 2]

        store.run(body, "blitzgammon")
