"""The leaderboard: who is on it, in which order, and pages of it from a place on or around a player."""

import asyncio
import math
import random
import secrets

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.stores import Desk, Store, contract
from tests.ratings.ladder import AT, POOLS, SECOND, finished
from tests.servers.redis import start_redis
from worker.tables.connect import connect
from worker.tables.redis import RedisTables
from worker.tables.tables import PAGE_MAX, PLACE_MAX, Around, Page, Standings, Wanted

IDS = ["a", "B", "aa", "a\x00", "\u00e9", "e\u0301", "\uffff", "\U0001f3b2", "\u0416", " "]
"""Ids that other orders than that of their UTF-8 bytes would put elsewhere: by case, by locale, by UTF-16."""
NEAR_1500 = [1500.0, math.nextafter(1500.0, math.inf), math.nextafter(1500.0, -math.inf)]
DOUBLES = [*NEAR_1500, 0.0, -0.0, 5e-324, -5e-324, 0.1, 1 / 3, -1500.123456789, 1e15 + 0.5, -1e300]


def names(page):
    return [place.player_id for place in page.places]


async def everyone(desk, limit=PAGE_MAX):
    """Return all places, page by page, each of which must say how many there are."""
    places = []
    while True:
        page = await desk.tables.leaderboard(len(places) + 1, limit)
        places += page.places
        if len(page.places) < limit:
            assert page.players == len(places)
            return places


async def check(desk, player_ids):
    """See that all pages are what sorting everyone's row gives."""
    rules = POOLS[desk.pool].rules
    rows = (await desk.tables.load(Wanted(players=player_ids))).rows
    shown = {name: row for name, row in rows.items() if rules.on_leaderboard(row.rated_games, row.experience)}
    ordered = sorted(shown, key=lambda name: (-shown[name].rating, name.encode()))
    expected = [Standings(rank, name, shown[name]) for rank, name in enumerate(ordered, 1)]
    for limit in (1, 2, 3, PAGE_MAX):
        assert await everyone(desk, limit) == expected
        for name in player_ids:
            assert await desk.tables.around(name, limit) == around(expected, name, rows.get(name), limit)
    return expected


def around(expected, name, row, limit):
    """Return what is to be around a player, from the list of all places."""
    ranks = [place.rank for place in expected if place.player_id == name]
    if not ranks:
        return Around(None, row, Page(len(expected), []))
    first = max(0, min(ranks[0] - 1 - limit // 2, len(expected) - limit))
    return Around(ranks[0], row, Page(len(expected), expected[first : first + limit]))


class TestTheOrder:
    @staticmethod
    @contract("season0")
    async def test_is_by_rating_and_ties_by_the_bytes_of_the_id(here, there):
        ratings = {"zoe": 1500, "\u00e9": 1200, "a": 1200, "B": 1200, "neg": -20, "one": 1, "a zero": 0, "min": -21}
        for player_id, rating in ratings.items():
            await here.write_rating(player_id, rating, f"o {player_id}")
        ordered = ["zoe", "B", "a", "\u00e9", "one", "a zero", "neg", "min"]
        page = await there.tables.leaderboard(1, 100)
        assert [(place.rank, place.player_id) for place in page.places] == list(enumerate(ordered, 1))
        assert [place.row.rating for place in page.places] == [ratings[player_id] for player_id in ordered]
        assert [(await there.tables.around(player_id, 1)).rank for player_id in ordered] == [*range(1, 9)]

    @staticmethod
    @contract("season0")
    async def test_follows_every_change(here, there):
        await here.send(finished("season0", "m-1", "ann", "bob"))
        assert names(await here.tables.leaderboard(1, 9)) == ["ann", "bob"]
        await there.send(finished("season0", "m-2", "bob", "ann"), finished("season0", "m-3", "bob", "ann"))
        assert names(await here.tables.leaderboard(1, 9)) == ["bob", "ann"]
        assert (await here.tables.around("ann", 1)).rank == 2

    @staticmethod
    @contract("blitzgammon")
    async def test_is_what_sorting_doubles_gives(here, there):
        ratings = {f"{name} {rating!r}": rating for rating in DOUBLES for name in "ba"}
        for player_id, rating in ratings.items():
            await here.write_rating(player_id, rating, f"o {player_id}")
        places = await check(there, list(ratings))
        assert [place.row.rating for place in places] == sorted([*DOUBLES, *DOUBLES], reverse=True)


class TestWhoIsShown:
    @staticmethod
    @contract("nardeon")
    async def test_in_nardeon_is_who_has_10_points_of_experience(here, there):
        await here.send(finished("nardeon", "m-1", "ann", "bob", length=9))
        assert await there.tables.leaderboard(1, 9) == Page(0, [])
        rank, row, page = await there.tables.around("ann", 9)
        assert (rank, row.experience, page) == (None, 9, Page(0, []))
        await here.send(finished("nardeon", "m-2", "cem", "ann", length=1))
        assert names(await there.tables.leaderboard(1, 9)) == ["ann"]
        assert (await there.tables.around("ann", 9)).rank == 1
        assert (await there.tables.around("cem", 9)).page == Page(1, [])

    @staticmethod
    @contract("gammon42")
    async def test_elsewhere_is_who_has_a_rated_game(here, there):
        await here.send(finished("gammon42", "m-1", "ann", "bob"))
        await here.send(finished("gammon42", "m-2", "cem", "dov", mode="boosted"))
        assert names(await there.tables.leaderboard(1, 9)) == ["ann", "bob"]

    @staticmethod
    @contract("gammon42")
    async def test_is_nobody_without_a_rating(here, there):
        await here.send(finished("gammon42", "m-1", "ann", "bob"))
        assert await there.tables.around("nobody", 9) == Around(None, None, Page(2, []))


async def field_of_nine(desk):
    """Give p-1 the best of nine ratings, and p-9 the worst."""
    for place in range(1, 10):
        await desk.write_rating(f"p-{place}", 2000 - place, f"o-{place}")


class TestAPage:
    @staticmethod
    @contract("season0")
    async def test_begins_at_any_place_and_says_how_many_players_there_are(here, there):
        await field_of_nine(here)
        page = await there.tables.leaderboard(3, 3)
        assert (page.players, names(page)) == (9, ["p-3", "p-4", "p-5"])
        assert [place.rank for place in page.places] == [3, 4, 5]
        assert names(await there.tables.leaderboard(8, 3)) == ["p-8", "p-9"]
        for beyond in (10, 11, PLACE_MAX):
            assert await there.tables.leaderboard(beyond, PAGE_MAX) == Page(9, [])

    @staticmethod
    @contract("season0")
    async def test_around_a_player_has_them_in_the_middle_or_is_moved_to_be_full(here, there):
        await field_of_nine(here)

        async def around(player_id, limit):
            found = await there.tables.around(player_id, limit)
            assert (f"p-{found.rank}", found.page.players) == (player_id, 9)
            assert found.row in [place.row for place in found.page.places if place.player_id == player_id]
            return [place.rank for place in found.page.places]

        assert await around("p-5", 1) == [5]
        assert await around("p-5", 3) == [4, 5, 6]
        assert await around("p-5", 4) == [3, 4, 5, 6]
        assert await around("p-1", 4) == await around("p-2", 4) == await around("p-3", 4) == [1, 2, 3, 4]
        assert await around("p-9", 4) == await around("p-8", 4) == [6, 7, 8, 9]
        assert await around("p-4", 9) == await around("p-9", 1_000) == [*range(1, 10)]

    @staticmethod
    @contract("season0")
    async def test_has_1_to_1000_places(here, there):
        for limit, shown in ((0, "0"), (-1, "-1"), (1_001, "1,001")):
            for asking in (there.tables.leaderboard(1, limit), here.tables.around("ann", limit)):
                with pytest.raises(ValueError, match=f"a page has 1 to 1,000 places, not {shown}"):
                    await asking
        for first in (0, -3, PLACE_MAX + 1):
            with pytest.raises(ValueError, match="a page begins at place 1 to 1,000,000,000"):
                await here.tables.leaderboard(first, 1)

    @staticmethod
    @contract("season0")
    async def test_can_have_all_1000(here, there):
        await here.send(*(finished("season0", f"m-{n}", f"w-{n}", f"l-{n}") for n in range(600)))
        assert len((await there.tables.leaderboard(1, 1_000)).places) == 1_000
        assert len((await there.tables.around("l-0", 1_000)).page.places) == 1_000


@st.composite
def histories(draw):
    """Draw a pool, a few ids, and matches between them; in nardeon some players stay at 9 points or get 10."""
    pool = draw(st.sampled_from(sorted(POOLS)))
    texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
    ids = draw(st.lists(st.sampled_from(IDS) | texts, min_size=2, max_size=8, unique=True))
    pairs = st.lists(st.sampled_from(ids), min_size=2, max_size=2, unique=True)
    matches = draw(st.lists(st.tuples(pairs, st.sampled_from([1, 5, 9, 10])), max_size=20))
    return (
        pool,
        ids,
        [
            finished(pool, f"m-{number}", *pair, at=AT + number * SECOND, length=length)
            for number, (pair, length) in enumerate(matches)
        ],
    )


def afresh(store):
    """Return an empty store of the same kind."""
    return Store(store.url, f"{store.namespace}{secrets.token_hex(6)}")


class TestWhateverIsApplied:
    @staticmethod
    def test_pages_are_slices_of_all_who_may_be_shown_sorted(store):
        @settings(max_examples=60)
        @given(histories())
        def property_holds(history):
            pool, ids, matches = history

            async def body(here, there):
                await here.send(*matches)
                await check(there, [*ids, "nobody"])

            afresh(store).run(body, pool)

        property_holds()

    @staticmethod
    def test_doubles_are_in_order_to_the_last_bit(store):
        doubles = st.sampled_from(DOUBLES) | st.floats(allow_nan=False, allow_infinity=False)

        @settings(max_examples=40)
        @given(st.dictionaries(st.sampled_from(IDS), doubles, max_size=8))
        def property_holds(ratings):
            async def body(here, there):
                for player_id, rating in ratings.items():
                    await here.write_rating(player_id, rating, f"o {player_id}")
                assert len(await check(there, IDS)) == len(ratings)

            afresh(store).run(body, "nardeon")

        property_holds()


@contract("season0")
async def test_a_page_is_of_one_instant_while_matches_are_applied(here, there):
    """With one K for all nothing is won that nobody lost: all ratings of one instant sum to 1200 a player."""
    chance = random.Random(5)
    ids = [f"p-{number}" for number in range(12)]

    async def apply():
        for number in range(300):
            await here.send(finished("season0", f"m-{number}", *chance.sample(ids, 2), at=AT + number * SECOND))

    await here.send(*(finished("season0", f"first {n}", ids[n], ids[n + 6], at=AT - SECOND) for n in range(6)))
    applying = asyncio.create_task(apply())
    pages = 0
    while not applying.done():
        found = await there.tables.around(chance.choice(ids), PAGE_MAX)
        for page in (found.page, await there.tables.leaderboard(1, PAGE_MAX)):
            pages += 1
            rows = [place.row for place in page.places]
            assert len(rows) == page.players == 12
            assert sum(row.rating for row in rows) == 1200 * 12
            assert names(page) == [p.player_id for p in sorted(page.places, key=lambda p: (-p.row.rating, p.player_id))]
        assert found.page.places[found.rank - 1].row == found.row
        await asyncio.sleep(0)
    await applying
    assert pages > 0


READING = {
    "leaderboard": {"evalsha": 1, "zrange": 1, "hmget": 1, "zcard": 1},
    "around": {"evalsha": 1, "zrank": 1, "zrange": 1, "hmget": 1, "hget": 1, "zcard": 1},
}
"""Commands of one reading. ZRANK and ZRANGE take O(log n) plus what they return, the others O(1) a field."""


@pytest.mark.real_redis
def test_a_reading_takes_as_many_commands_of_o_log_n_whatever_number_is_shown(tmp_path):
    async def commands(client, reading):
        async def calls():
            stats = await client.info("commandstats")
            return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in stats.items()}

        before = await calls()
        assert len((await reading).places) == 10
        after = await calls()
        taken = {name: calls - before.get(name, 0) for name, calls in after.items()}
        return {name: number for name, number in taken.items() if number and name != "info"}

    async def page_around(tables, player_id):
        return (await tables.around(player_id, 10)).page

    async def body(url):
        client = connect(url)
        desk = Desk("season0", RedisTables(client, "big", "season0", "run"))
        shown = 0
        for pairs in (10, 1_000, 9_000):
            first, shown = shown, shown + pairs
            for start in range(first, shown, 1_000):
                numbers = range(start, min(start + 1_000, shown))
                await desk.send(*(finished("season0", f"m-{n}", f"w-{n}", f"l-{n}") for n in numbers))
            assert (await desk.tables.leaderboard(1, 1)).players == 2 * shown
            for number in (0, shown // 2, shown - 1):  # once first, for a script that is not known yet
                await page_around(desk.tables, f"l-{number}")
                assert await commands(client, page_around(desk.tables, f"l-{number}")) == READING["around"]
                assert await commands(client, desk.tables.leaderboard(1 + number, 10)) == READING["leaderboard"]
        assert await client.object("encoding", "big:{season0}:leaderboard") == b"skiplist"
        await client.aclose()

    server = start_redis(tmp_path)
    try:
        asyncio.run(body(server.url))
    finally:
        server.kill()
