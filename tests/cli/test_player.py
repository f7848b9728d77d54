"""The command `gammon-ratings player`."""

import json

import pytest

from tests.cli.standing import Standing, some_matches, told
from tests.ratings.ladder import AT, DAY, HOUR, awarded, finished, linked
from worker.cli.simulation.sending import now_ms


def test_it_shows_rating_place_and_games(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("ann", "bob"), ("ann", "cem"), ("dov", "bob")))
    shown = told(standing.run("player", "season0", "ann"))
    assert shown.splitlines()[0] == "ann in season0"
    lines = {line[:18].strip(): line[18:] for line in shown.splitlines()[1:]}
    assert lines["rating"] == "1216"
    assert lines["place"] == "1 of 4"
    assert lines["rated games"] == "2"
    assert lines["last change"] == "number 2, from match-finished, partition 0, offset 1"
    assert "experience" not in lines


def test_only_games_of_the_last_seven_days_count_as_recent(standing: Standing) -> None:
    now = now_ms()
    for number, days_ago in enumerate((20, 8, 6, 2)):
        standing.rate(
            finished("gammon42", f"m-{number}", "ann", "bob", at=now - days_ago * DAY, formula_version="1.3.1")
        )
    assert "the last 7 days 2 ranked games" in told(standing.run("player", "gammon42", "ann"))
    assert json.loads(told(standing.run("player", "gammon42", "ann", "--json")))["games_in_window"] == 2


def test_nardeon_ratings_are_shown_with_two_decimals_and_experience(standing: Standing) -> None:
    standing.rate(*some_matches("nardeon", ("ann", "bob")))
    shown = told(standing.run("player", "nardeon", "ann"))
    assert "1522.36" in shown
    assert "not on the leaderboard" in shown
    found = json.loads(told(standing.run("player", "nardeon", "ann", "--json")))
    assert found["rating"] == 1500 + 4 * 5**0.5 * 0.5 * 5
    assert (found["rank"], found["players"], found["experience"], found["rated_games"]) == (None, 0, 5, 1)


def test_both_ids_of_a_link_tell_of_it(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("device-1", "bob")), linked("device-1", "ann", at=AT + HOUR))
    assert "retired: its matches count for ann" in told(standing.run("player", "season0", "device-1"))
    shown = told(standing.run("player", "season0", "ann"))
    assert "has claimed device-1, and took its history over" in shown
    assert "1 of 2" in shown
    found = json.loads(told(standing.run("player", "season0", "device-1", "--json")))
    assert (found["rank"], found["anonymous_id"], found["account_id"], found["took_over"]) == (
        None,
        "device-1",
        "ann",
        True,
    )


def test_an_account_with_games_has_kept_its_own_history(standing: Standing) -> None:
    standing.rate(*some_matches("season0", ("device-1", "ann")), linked("device-1", "ann", at=AT + HOUR))
    assert "has claimed device-1, and kept a history of its own" in told(standing.run("player", "season0", "ann"))


def test_whoever_has_only_a_prize_has_a_rating_and_no_place(standing: Standing) -> None:
    standing.rate(awarded("spring-open", "ann", 40))
    found = json.loads(told(standing.run("player", "gammon42", "ann", "--json")))
    assert (found["rating"], found["rank"], found["rated_games"], found["games_in_window"]) == (1540, None, 0, 0)


def test_json_says_all_of_it(standing: Standing) -> None:
    standing.rate(*some_matches("blitzgammon", ("ann", "bob")))
    assert json.loads(told(standing.run("player", "blitzgammon", "bob", "--json"))) == {
        "pool": "blitzgammon",
        "player_id": "bob",
        "rating": 1477,
        "rank": 2,
        "players": 2,
        "rated_games": 1,
        "newest_match_finished_at": "2026-11-01T12:00:01.000Z",
        "changes": 1,
        "last_change_source": "match-finished/0/0",
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("season0", "nobody"), "Nobody with the id nobody has a rating in season0."),
        (("chess", "ann"), "There is no pool chess; the pools are gammon42, blitzgammon, nardeon, season0."),
        (("season0", "\x1b[31mred"), "Nobody with the id \\x1b[31mred has a rating in season0."),
    ],
)
def test_who_is_not_known_gets_one_sentence_and_code_1(
    standing: Standing, arguments: tuple[str, ...], sentence: str
) -> None:
    result = standing.run("player", *arguments)
    assert (result.exit_code, result.stderr) == (1, f"{sentence}\n")


def test_a_redis_that_is_away_ends_with_code_4() -> None:
    result = Standing("redis://127.0.0.1:1/0", "nowhere").run("player", "season0", "ann")
    assert result.exit_code == 4
    assert "Traceback" not in result.output
