"""The command `gammon-ratings leaderboard`."""

import json
from typing import Any

import pytest

from tests.cli.standing import Standing, some_matches, told

FIELD = [(f"p{number:02d}", f"q{number:02d}") for number in range(1, 6)]
"""Five winners and five losers, each with one game: the winners share the first places, in order of id."""


def places(standing: Standing, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told(standing.run("leaderboard", *arguments, "--json")))
    return found


def test_the_best_come_first_and_ties_go_by_id(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD, ("q01", "q02")))
    found = places(standing, "season0")
    assert [place["rank"] for place in found] == list(range(1, 11))
    assert [place["player_id"] for place in found][:6] == ["p01", "p02", "p03", "p04", "p05", "q01"]
    assert found[0] == {"rank": 1, "player_id": "p01", "rating": 1208, "rated_games": 1}


def test_top_says_how_many(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    assert len(places(standing, "season0", "--top", "3")) == 3


def test_around_shows_the_neighbours(standing: Standing) -> None:
    standing.rate(*some_matches("season0", *FIELD))
    around = places(standing, "season0", "--around", "p04", "--top", "3")
    assert [place["player_id"] for place in around] == ["p03", "p04", "p05"]
    first = places(standing, "season0", "--around", "p01", "--top", "4")
    assert [place["rank"] for place in first] == [1, 2, 3, 4]


def test_people_see_a_table(standing: Standing) -> None:
    standing.rate(*some_matches("nardeon", ("ann", "bob"), ("ann", "bob")))
    shown = told(standing.run("leaderboard", "nardeon"))
    assert "experience" in shown
    row = next(line for line in shown.splitlines() if "ann" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == ["1", "ann", "1543.22", "2", "10"]


def test_ids_are_no_markup(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("[red]ann", "\x1b[2Jbob")))
    shown = told(standing.run("leaderboard", "season0"))
    assert "[red]ann" in shown
    assert "\\x1b[2Jbob" in shown


def test_an_empty_pool_says_so(standing: Standing) -> None:
    assert told(standing.run("leaderboard", "season0")) == "Nobody is on the leaderboard of season0 yet.\n"
    assert places(standing, "season0") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("chess",), "There is no pool chess; the pools are gammon42, blitzgammon, nardeon, season0."),
        (("nardeon", "--around", "eve"), "Nobody with the id eve has a rating in nardeon."),
        (
            ("nardeon", "--around", "ann"),
            "ann is not on the leaderboard of nardeon yet, with 1 rated game and 5 points of experience.",
        ),
    ],
)
def test_who_has_no_place_gets_one_sentence_and_code_1(
    standing: Standing, arguments: tuple[str, ...], sentence: str
) -> None:
    standing.rate(*some_matches("nardeon", ("ann", "bob")))
    result = standing.run("leaderboard", *arguments)
    assert (result.exit_code, result.stderr) == (1, f"{sentence}\n")
