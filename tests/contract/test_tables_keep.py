"""What stands in the tables for long: ratings to the last bit, ids of any kind, and pruning."""

import math
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.stores import WINDOW_MS
from tests.ratings.ladder import AT, HOUR, analyzed, finished
from worker.ratings.rows import Row
from worker.tables.packing import pack_row, unpack_row

STRANGE_IDS = [
    "with space",
    " ",
    "0",
    "-",
    "nul\x00byte",
    "{x}",
    "}{",
    "a:b",
    "*",
    "=",
    "p",
    "m",
    "\u00fc\u0301",
    "\U0001f3b2" * 128,
    "x" * 128,
    "[a]",
    "new\nline",
    "tab\t",
    "%",
    "a/b/c",
    "a,b",
    "__proto__",
    "1e5",
    "nan",
    '"',
    "\\",
    "\u202e",
]


def match(match_id, winner, loser, pool="season0", **changed):
    return finished(pool, match_id, winner, loser, **changed)


class TestRatings:
    @staticmethod
    def test_come_back_bit_for_bit(store):
        ratings = [
            1500.0,
            0.1,
            1 / 3,
            1e-7,
            -1e-7,
            -1500.123456789,
            5e-324,
            1e300,
            1499.9999999999998,
            2**53 + 1,
            -(2**40),
            0,
            -0.0,
            1512.3456789012345,
        ]

        async def body(here, there):
            for number, rating in enumerate(ratings):
                await here.write_rating(f"p-{number}", rating, f"o-{number}")
            rows = (await there.load(*(match("x", f"p-{n}", f"o-{n}", "nardeon") for n in range(len(ratings))))).rows
            for number, rating in enumerate(ratings):
                found = rows[f"p-{number}"].rating
                assert type(found) is type(rating)
                assert found == rating
                assert math.copysign(1, found) == math.copysign(1, rating)

        store.run(body, "nardeon")

    @staticmethod
    @given(st.floats(allow_nan=False, allow_infinity=False))
    @settings(max_examples=300)
    def test_of_every_double_read_back_to_the_same_bits(rating):
        row = Row(7, rating, 3, 0, None, "match-finished/0/1")
        assert struct.pack("d", unpack_row(pack_row(row).encode()).rating) == struct.pack("d", rating)

    @staticmethod
    def test_of_a_nardeon_pool_are_chained_to_the_last_bit(store):
        async def body(here, there):
            after = {}
            for number in range(40):
                desk = (here, there)[number % 2]
                [outcome] = await desk.send(
                    match(f"m-{number}", "ann", f"p-{number % 3}", "nardeon", length=1 + number)
                )
                for change in outcome.changes.sides:
                    assert change.before == after.get(change.player_id, 1500.0)
                    after[change.player_id] = change.after

        store.run(body, "nardeon")


class TestIds:
    @staticmethod
    def test_of_any_kind_name_players_and_matches(store):
        async def body(here, there):
            events = [
                match(name, name, f"{name[:100]}'s opponent", "gammon42", at=AT + n)
                for n, name in enumerate(STRANGE_IDS)
            ]
            await here.send(*events)
            await there.send(*(match(f"2 {name[:100]}", name, "all", "gammon42", at=AT + HOUR) for name in STRANGE_IDS))
            loaded = await here.load(*events)
            for name in STRANGE_IDS:
                assert loaded.records[name].content.winner.id == name
                assert loaded.rows[name].rated_games == 2
            shown = (await here.tables.leaderboard(1, 1_000)).places
            assert set(STRANGE_IDS) < {standing.player_id for standing in shown}
            last = await here.load(*(match("z", name, "all", "gammon42", at=AT + 2 * HOUR) for name in STRANGE_IDS))
            assert all(last.games[name, AT + 2 * HOUR, "z"] == 2 for name in STRANGE_IDS)
            for name in STRANGE_IDS:
                found = await here.tables.around(name, 1)
                assert found.page.places == [shown[found.rank - 1]]
                assert found.page.places[0].player_id == name

        store.run(body, "gammon42")

    @staticmethod
    def test_of_any_kind_name_what_is_parked(store):
        async def body(here, there):
            ids = [name[:120] for name in STRANGE_IDS]
            events = [analyzed("blitzgammon", name, (9.0, 4.0), players=(name, name + "2")) for name in ids]
            await here.send(*events)
            assert set((await there.load(*events)).parked) == set(ids)
            rated = await there.send(*(match(name, name, name + "2", "blitzgammon") for name in ids))
            assert {outcome.record.record.rated.revision for outcome in rated} == {1}
            assert (await here.load(*events)).parked == {}

        store.run(body, "blitzgammon")


class TestPruning:
    @staticmethod
    def test_removes_records_from_before_the_horizon(store):
        async def body(here, there):
            await here.send(match("old", "ann", "bob", at=AT - 1), match("on it", "ann", "bob", at=AT))
            await here.send(match("excluded", "ann", "bob", at=AT - 1, kinds=("bot", "account")))
            assert (await there.prune()).matches == 0
            await there.tables.raise_horizon(AT)
            assert await there.prune() == (0, 2, 0, 0)
            left = (await here.load(*(match(name, "ann", "bob") for name in ("old", "on it", "excluded")))).records
            assert left.keys() == {"on it"}

        store.run(body, "season0")

    @staticmethod
    def test_removes_parked_analyses_whose_newest_is_from_before_the_horizon(store):
        async def body(here, there):
            await here.send(
                analyzed("blitzgammon", "old", (1, 2), 1, at=AT - 2),
                analyzed("blitzgammon", "old", (1, 2), 2, at=AT - 1),
                analyzed("blitzgammon", "kept", (1, 2), 2, at=AT),
                analyzed("blitzgammon", "kept", (1, 2), 1, at=AT - 1),
            )
            await there.tables.raise_horizon(AT)
            assert await there.prune() == (0, 0, 1, 0)
            events = [analyzed("blitzgammon", match_id, (1, 2)) for match_id in ("old", "kept")]
            assert (await here.load(*events)).parked.keys() == {"kept"}

        store.run(body, "blitzgammon")

    @staticmethod
    def test_removes_window_entries_that_no_match_can_count_any_more(store):
        async def body(here, there):
            games = {"gone": AT - WINDOW_MS - 1, "edge": AT - WINDOW_MS, "new": AT}
            await here.send(*(match(name, "ann", name, "gammon42", at=at) for name, at in games.items()))
            await there.tables.raise_horizon(AT)
            assert await there.prune() == (0, 2, 0, 2)
            found = await here.load(match("z", "ann", "x", "gammon42", at=AT))
            assert found.games["ann", AT, "z"] == 2
            assert (await there.prune()) == (0, 0, 0, 0)

        store.run(body, "gammon42")

    @staticmethod
    def test_keeps_players_their_ratings_and_their_places(store):
        async def body(here, there):
            await here.send(match("m-1", "ann", "bob"))
            before = await here.tables.leaderboard(1, 9), (await here.load(match("x", "ann", "bob"))).rows
            await there.tables.raise_horizon(AT + HOUR)
            await there.prune()
            assert (await here.tables.leaderboard(1, 9), (await here.load(match("x", "ann", "bob"))).rows) == before

        store.run(body, "season0")

    @staticmethod
    def test_goes_on_until_nothing_is_left_to_remove(store):
        async def body(here, there):
            events = [match(f"m-{n}", f"w-{n}", f"l-{n}", "gammon42", at=AT + n % 2) for n in range(1_200)]
            await here.send(*events)
            await there.tables.raise_horizon(AT + 1)
            assert await there.prune() == (0, 600, 0, 0)
            await there.tables.raise_horizon(AT + 1 + WINDOW_MS)
            assert await there.prune() == (0, 600, 0, 1_200)
            assert (await here.load(*events)).records == {}

        store.run(body, "gammon42")
