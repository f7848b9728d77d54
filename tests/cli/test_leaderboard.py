"""The command `gammon-ratings leaderboard`."""

import asyncio
import json
from typing import Any

import pytest

from tests.cli.standing import Standing, some_matches, told
from tests.ratings.ladder import AT, HOUR, finished, linked
from worker.ratings.rows import Row
from worker.tables.connect import connect
from worker.tables.packing import pack_row

FIELD = [(f"p{number:02d}", f"q{number:02d}") for number in range(1, 6)]
"""Five winners and five losers, each with one game: the winners share the first places, in order of id."""


def page(standing: Standing, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(standing.run("leaderboard", *arguments, "--json")))
    return found


def ids(found: dict[str, Any]) -> list[str]:
    return [place["player_id"] for place in found["places"]]


def test_the_best_come_first_and_ties_go_by_id(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD, ("q01", "q02")))
    found = page(standing, "season0")
    assert (found["pool"], found["players"]) == ("season0", 10)
    assert [place["rank"] for place in found["places"]] == list(range(1, 11))
    assert ids(found)[:6] == ["p01", "p02", "p03", "p04", "p05", "q01"]
    assert found["places"][0] == {"rank": 1, "player_id": "p01", "rating": 1208, "rated_games": 1}


@pytest.mark.parametrize("option", ["--limit", "--top"])
def test_limit_says_how_many(standing: Standing, option: str) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    found = page(standing, "season0", option, "3")
    assert (ids(found), found["players"]) == (["p01", "p02", "p03"], 10)


def test_first_says_where_to_begin(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    found = page(standing, "season0", "--first", "4", "--limit", "3")
    assert [(place["rank"], place["player_id"]) for place in found["places"]] == [(4, "p04"), (5, "p05"), (6, "q01")]
    assert ids(page(standing, "season0", "--first", "10")) == ["q05"]


def test_places_that_do_not_exist_are_none(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    assert told(standing.run("leaderboard", "season0", "--first", "11")) == (
        "The leaderboard of season0 ends at place 10.\n"
    )
    assert page(standing, "season0", "--first", "11") == {"pool": "season0", "players": 10, "places": []}


def test_around_shows_the_neighbours(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    assert ids(page(standing, "season0", "--around", "p04", "--limit", "3")) == ["p03", "p04", "p05"]
    first = page(standing, "season0", "--around", "p01", "--limit", "4")
    assert [place["rank"] for place in first["places"]] == [1, 2, 3, 4]
    last = page(standing, "season0", "--around", "q05", "--limit", "4")
    assert [place["rank"] for place in last["places"]] == [7, 8, 9, 10]
    assert last["players"] == 10


def test_people_see_a_table_and_how_many_players_there_are(standing: Standing) -> None:
    standing.rate(*some_matches("nardeon", ("ann", "bob"), ("ann", "bob")))
    shown = told(standing.run("leaderboard", "nardeon", "--limit", "1"))
    assert "experience" in shown
    row = next(line for line in shown.splitlines() if "ann" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == ["1", "ann", "1543.22", "2", "10"]
    assert shown.splitlines()[-1].strip() == "2 players"


def test_programs_see_nardeon_ratings_unrounded(standing: Standing) -> None:
    standing.rate(finished("nardeon", "m-1", "ann", "bob", length=10))
    first = page(standing, "nardeon")["places"][0]
    assert first == {
        "rank": 1,
        "player_id": "ann",
        "rating": 1500 + 4 * 10**0.5 * 0.5 * 5,
        "rated_games": 1,
        "experience": 10,
    }


def test_ids_are_no_markup(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("[red]ann", "\x1b[2Jbob")))
    shown = told(standing.run("leaderboard", "season0"))
    assert "[red]ann" in shown
    assert "\\x1b[2Jbob" in shown


def test_an_empty_pool_says_so(standing: Standing) -> None:
    assert told(standing.run("leaderboard", "season0")) == "Nobody is on the leaderboard of season0 yet.\n"
    assert page(standing, "season0") == {"pool": "season0", "players": 0, "places": []}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("chess",), "There is no pool chess; the pools are gammon42, blitzgammon, nardeon, season0."),
        (("nardeon", "--around", "eve"), "Nobody with the id eve has a rating in nardeon."),
        (("nardeon", "--around", "\x1b[31m"), "Nobody with the id \\x1b[31m has a rating in nardeon."),
        (
            ("nardeon", "--around", "ann"),
            "ann is not on the leaderboard of nardeon yet: 9 of 10 points of experience.",
        ),
    ],
)
def test_who_has_no_place_gets_one_sentence_and_code_1(
    standing: Standing, arguments: tuple[str, ...], sentence: str
) -> None:
    standing.rate(finished("nardeon", "m-1", "ann", "bob", length=9))
    result = standing.run("leaderboard", *arguments)
    assert (result.exit_code, result.stderr) == (1, f"{sentence}\n")


@pytest.mark.parametrize(
    ("pool", "row", "sentence"),
    [
        (
            "gammon42",
            Row(1, 1525, 0, 0, None, "t/0/1"),
            "ann is not on the leaderboard of gammon42 yet: no rated game so far.",
        ),
        (
            "nardeon",
            Row(3, 1512.5, 3, 10, AT, "t/0/1"),
            "ann comes onto the leaderboard of nardeon with the next rated game.",
        ),
    ],
    ids=["only a prize", "experience that was too little under earlier settings"],
)
def test_who_has_a_rating_but_no_place_is_told_what_is_missing(
    standing: Standing, pool: str, row: Row, sentence: str
) -> None:
    async def write() -> None:
        client = connect(standing.url)
        await client.hset(f"{standing.namespace}:{{{pool}}}:players", "ann", pack_row(row))
        await client.aclose()

    asyncio.run(write())
    result = standing.run("leaderboard", pool, "--around", "ann")
    assert (result.exit_code, result.stderr) == (1, f"{sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--limit", "0"), "greater than or equal to 1"),
        (("--limit", "1001"), "less than or equal to 1000"),
        (("--first", "0"), "greater than or equal to 1"),
        (("--first", "1000000001"), "less than or equal to 1000000000"),
        (("--first", "2", "--around", "ann"), "give --first or --around, not both"),
    ],
)
def test_pages_that_cannot_be_asked_for_are_refused(
    standing: Standing, arguments: tuple[str, ...], complaint: str
) -> None:
    result = standing.run("leaderboard", "season0", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_an_id_that_is_not_utf_8_is_refused(standing: Standing) -> None:
    result = standing.run("leaderboard", "season0", "--around", "\udcff")
    assert result.exit_code == 2
    assert "the id is not UTF-8" in result.stderr


def test_around_a_retired_id_names_the_account_that_has_its_place(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("device-1", "bob")), linked("device-1", "ann", at=AT + HOUR))
    result = standing.run("leaderboard", "season0", "--around", "device-1")
    assert result.exit_code == 1
    assert "device-1 is not on the leaderboard of season0: ann has claimed it" in result.stderr
    assert ids(page(standing, "season0")) == ["ann", "bob"]
