"""What a commit writes, what it refuses to write, and what it hands back."""

import pytest
from msgspec.structs import replace

from tests.contract.stores import Store, contract, wanted
from tests.ratings.ladder import AT, HOUR, analyzed, finished
from worker.ratings.outcome import Kind


def match(match_id, winner="ann", loser="bob", **changed):
    return finished("blitzgammon", match_id, winner, loser, **changed)


def analysis(match_id="m-1", revision=1, winner_pr=9.0, loser_pr=4.0, **changed):
    return analyzed("blitzgammon", match_id, (winner_pr, loser_pr), revision, **changed)


async def everything(desk):
    """Return all that a commit can write about the players and matches of these tests."""
    events = [match(f"m-{number}", one, other) for number in range(5) for one, other in ("ab", "cd")]
    events += [match(f"m-{number}", "ann", "bob") for number in range(5)]
    loaded = await desk.load(*events, match("m-1", "cem", "dee"))
    return loaded, await desk.tables.leaderboard(1, 100), await desk.tables.outbox_size()


async def is_stale(desk, *causes):
    """Commit causes that must all be stale, and see that nothing was written."""
    before = await everything(desk)
    committed = await desk.commit(causes)
    assert list(committed.positions) == [None] * len(causes)
    assert list(committed.rests_on) == []
    assert await everything(desk) == before


class TestACauseIsStale:
    @staticmethod
    def test_when_one_of_its_rows_has_moved_on(store):
        async def body(here, there):
            await here.send(match("m-0"))
            [decided] = await here.decide(match("m-1"))
            await there.send(match("m-2", "cem", "bob"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_a_player_was_new_and_is_no_more(store):
        async def body(here, there):
            [decided] = await here.decide(match("m-1"))
            await there.send(match("m-2", "cem", "bob"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    @pytest.mark.parametrize("mode", ["rating", "casual"])
    def test_when_its_match_is_known_by_now(store, mode):
        async def body(here, there):
            [decided] = await here.decide(match("m-1", mode=mode))
            await there.send(match("m-1", "cem", "dee", mode="casual"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_the_match_was_analyzed_by_another(store):
        async def body(here, there):
            await here.send(match("m-1"))
            [decided] = await here.decide(analysis(revision=2))
            await there.send(analysis(revision=1))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_the_same_match_moved_on_though_its_rows_look_alike(store):
        async def body(here, there):
            await here.send(match("m-1"))
            [decided] = await here.decide(analysis(revision=2))
            [other] = await there.decide(analysis(revision=1))
            rows = tuple((player_id, replaces, replaces) for player_id, _, replaces in other.outcome.rows)
            await there.commit([replace(other, outcome=replace(other.outcome, rows=rows))])
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    @pytest.mark.parametrize("mode", ["rating", "casual"])
    def test_when_an_analysis_of_its_match_was_parked_meanwhile(store, mode):
        async def body(here, there):
            [decided] = await here.decide(match("m-1", mode=mode))
            await there.send(analysis("m-1"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_another_analysis_was_parked_on_top(store):
        async def body(here, there):
            await here.send(analysis("m-1"))
            [rated], [parked] = await here.decide(match("m-1")), await here.decide(analysis("m-1", 3))
            await there.send(analysis("m-1", 2))
            await is_stale(here, rated)
            await is_stale(here, parked)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_it_was_to_be_parked_and_its_match_has_come(store):
        async def body(here, there):
            [decided] = await here.decide(analysis("m-1"))
            await there.send(match("m-1", mode="casual"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_when_what_was_parked_is_used_up(store):
        async def body(here, there):
            await here.send(analysis("m-1"))
            [decided] = await here.decide(analysis("m-1", 2))
            await there.send(match("m-1"))
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    @pytest.mark.parametrize("event", [match("m-1"), match("m-1", mode="casual"), analysis("m-1", at=AT)])
    def test_when_the_horizon_has_passed_it(store, event):
        async def body(here, there):
            [decided] = await here.decide(event)
            await there.tables.raise_horizon(AT + 1)
            await is_stale(here, decided)

        store.run(body, "blitzgammon")

    @staticmethod
    def test_but_not_on_the_horizon_itself(store):
        async def body(here, there):
            [decided] = await here.decide(match("m-1"))
            await there.tables.raise_horizon(AT)
            assert list((await here.commit([decided])).positions) == [1]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_but_not_for_what_others_did_elsewhere(store):
        async def body(here, there):
            decided = await here.decide(match("m-1"), analysis("m-2"))
            await there.send(match("m-3", "cem", "dee"), analysis("m-4"), match("m-5", mode="casual"))
            assert list((await here.commit(decided)).positions) == [2, 0]

        store.run(body, "blitzgammon")


class TestWithAStaleCause:
    @staticmethod
    def test_every_later_one_of_its_players_and_theirs_comes_back(store):
        async def body(here, there):
            causes = await here.decide(
                match("m-1", "ann", "bob"),
                match("m-2", "bob", "cem"),
                match("m-3", "cem", "dee"),
                match("m-4", "eve", "fay"),
            )
            await there.send(match("m-9", "ann", "zed"))
            assert list((await here.commit(causes)).positions) == [None, None, None, 2]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_those_come_back_that_write_nothing_or_only_publish(store):
        async def body(here, there):
            await here.send(match("m-0", "ann", "cem"))
            causes = await here.decide(
                match("m-1"),
                match("m-1"),
                match("m-1", at=AT + HOUR),
                analysis("m-1", players=("x", "y")),
                match("m-0"),
            )
            kinds = [cause.outcome.kind for cause in causes]
            assert kinds == [Kind.RATED, Kind.DUPLICATE, Kind.REFUSED, Kind.REFUSED, Kind.REFUSED]
            await there.send(match("m-9", "bob", "zed"))
            assert list((await here.commit(causes)).positions) == [None] * 5

        store.run(body, "blitzgammon")

    @staticmethod
    def test_those_of_its_match_id_come_back_whoever_they_name(store):
        async def body(here, there):
            causes = await here.decide(
                analysis("m-1", players=("x", "y")),
                match("m-1"),
                analysis("m-2", players=("ann", "z")),
                match("m-3", "q", "r"),
            )
            await there.send(analysis("m-1", players=("v", "w")))
            assert list((await here.commit(causes)).positions) == [None, None, None, 1]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_a_player_and_a_match_of_the_same_name_are_two_things(store):
        async def body(here, there):
            causes = await here.decide(match("bob", "ann", "cem"), match("m-2", "bob", "dee"))
            await there.send(match("m-9", "ann", "zed"))
            assert list((await here.commit(causes)).positions) == [None, 2]

        store.run(body, "blitzgammon")

    @staticmethod
    def test_earlier_ones_are_written(store):
        async def body(here, there):
            causes = await here.decide(match("m-1", "ann", "bob"), match("m-2", "bob", "cem"))
            await there.send(match("m-9", "cem", "zed"))
            assert list((await here.commit(causes)).positions) == [2, None]
            assert (await here.load(match("m-2"), match("m-1"))).records.keys() == {"m-1"}

        store.run(body, "blitzgammon")


@contract("blitzgammon")
async def test_a_batch_sees_its_own_earlier_causes(here, there):
    causes = await here.decide(
        analysis("m-1"),
        analysis("m-1", 2),
        match("m-1"),
        analysis("m-1", 3),
        match("m-2", "bob", "ann"),
        analysis("m-1", 4),
    )
    committed = await here.commit(causes)
    assert list(committed.positions) == [0, 0, 1, 2, 3, 4]
    loaded = await there.load(match("m-1"))
    assert loaded.parked == {}
    assert {name: row.seq for name, row in loaded.rows.items()} == {"ann": 4, "bob": 4}
    assert loaded.records["m-1"].rated.revision == 4
    assert loaded.rows == {player_id: row for player_id, row, _ in causes[-1].outcome.rows}


@contract("blitzgammon")
async def test_no_causes_are_no_commit(here, there):
    committed = await here.commit([])
    assert (list(committed.positions), list(committed.rests_on)) == ([], [])


@contract("blitzgammon")
async def test_an_excluded_match_drops_what_was_parked_for_it(here, there):
    await here.send(analysis("m-1"))
    await there.send(match("m-1", mode="casual"))
    loaded = await here.load(match("m-1"))
    assert loaded.parked == {}
    assert loaded.records["m-1"].excluded_reason == "casual"


@contract("blitzgammon")
async def test_a_letter_without_a_pool_state_is_kept_for_publication(here, there):
    [cause] = await here.decide(match("m-1"))
    letter = replace(
        cause.outcome,
        kind=Kind.REFUSED,
        match_id="",
        players=(),
        rows=(),
        record=None,
        parked=None,
        changes=None,
        on_leaderboard=frozenset(),
    )
    message = replace(
        cause.messages[0],
        value=None,
        key=None,
        headers=[("h", b"\x00 \xff"), ("h", None), ("", b"")],
        takes_position=False,
    )
    await there.tables.raise_horizon(AT + HOUR)
    committed = await here.commit([replace(cause, outcome=letter, messages=[message])])
    assert list(committed.positions) == [0]
    [entry] = (await there.load(sources=[cause.source])).outbox
    assert list(entry.messages) == [message]


class TestCommittingAndThenLoading:
    @staticmethod
    def test_shows_what_was_just_committed(store):
        async def body(here, there):
            await there.send(match("m-0", "cem", "dee"))
            causes = await here.decide(match("m-1"), match("m-2", "cem", "bob"))
            asked = wanted("blitzgammon", [match("m-1"), match("m-3", "cem", "dee")])
            committed, loaded = await here.tables.commit_then_load(here.tables.prepare(causes), asked)
            assert list(committed.positions) == [2, 3]
            assert loaded == await there.tables.load(asked)
            assert loaded.position == 3
            assert loaded.rows["ann"].rated_games == 1

        store.run(body, "blitzgammon")

    @staticmethod
    def test_tells_what_was_stale_and_loads_all_the_same(store):
        async def body(here, there):
            causes = await here.decide(match("m-1"))
            await there.send(match("m-2", "cem", "bob"))
            committed, loaded = await here.tables.commit_then_load(
                here.tables.prepare(causes), wanted("blitzgammon", [match("m-1")])
            )
            assert list(committed.positions) == [None]
            assert loaded.rows.keys() == {"bob"}

        store.run(body, "blitzgammon")

    @staticmethod
    @pytest.mark.parametrize("forgotten", [(), ("load",), ("commit", "load")])
    def test_works_on_a_redis_that_knows_no_scripts(redis_server, namespace, forgotten):
        async def body(here, there):
            await here.send(match("m-0"))
            [decided] = await here.decide(match("m-1"))
            if forgotten:
                await here.tables._client.script_flush()
            if forgotten == ("load",):
                await here.commit([])
            committed, loaded = await here.tables.commit_then_load(
                here.tables.prepare([decided]), wanted("blitzgammon", [match("m-1"), match("m-2", "cem", "dee")])
            )
            assert list(committed.positions) == [2]
            assert loaded.records.keys() == {"m-1"}
            assert await there.tables.outbox_size() == 2

        Store(redis_server.url, namespace).run(body, "blitzgammon")
