"""What players are told about a match: one ruleset and case after the other, as they read it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.standing import Standing, told
from tests.ratings.ladder import AT, DAY, HOUR, POOLS, SECOND, Ladder, analyzed, finished, pool_of
from worker.cli.explain.exclusions import WHY
from worker.cli.explain.match import as_json, as_text, explain
from worker.files import packaged
from worker.ratings.rows import MatchRecord, Row
from worker.rules.pools import Pool, parse_pools

SOON = AT + DAY
AFTER_IT_SETTLED = AT + 31 * DAY
PR_WAIT = "2026-12-01 12:00:00 UTC"


class Table(Ladder):
    """A ladder whose players begin where a test says, and whose first match is explained."""

    def seat(self, rating: float, player_id: str, *, experience: int = 0, rated_games: int = 0, games: int = 0) -> None:
        self.state.rows[player_id] = Row(1, rating, rated_games, experience, None, "match-finished/0/0")
        self.state.games = Games({**getattr(self.state.games, "counts", {}), player_id: games})

    @property
    def record(self) -> MatchRecord:
        return self.state.records["m-1"]

    def text(self, now_ms: int = SOON, pool: Pool | None = None) -> str:
        return as_text(explain(pool or self.pool, self.record, now_ms))

    def sentences(self, now_ms: int = SOON) -> list[str]:
        return self.text(now_ms).splitlines()


class Games(dict[Any, int]):
    """How many games a player had in the window before the match, by id."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts

    def __missing__(self, query: tuple[str, int, str]) -> int:
        return self.counts.get(query[0], 0)


def gammon42(winner: float = 1500, loser: float = 1620, games: tuple[int, int] = (57, 12), **changed: Any) -> Table:
    table = Table("gammon42")
    table.seat(winner, "ann", games=games[0])
    table.seat(loser, "bob", games=games[1])
    table.match(**{"cube": 2, **changed})
    return table


def test_a_gammon42_game_by_volume() -> None:
    assert gammon42(end_reason="resigned").sentences() == [
        "ann beat bob in gammon42 on 2026-11-01 12:00:00 UTC (match m-1; bob resigned).",
        "It was rated by Gammon42's formula 1.3.1, the one in force when the game ended.",
        "",
        "Chances: ann had 1500 and bob 1620, so ann was expected to win with "
        "1 / (1 + 10^((1620 - 1500) / 1200)) = 0.443.",
        "Cube: The cube stood at 2: 1 + log2(2) / 6 = 1.167.",
        "ann: K is 16, because ann had played 57 ranked games in the 7 days before (50 or more). "
        "16 * (1 - 0.443) * 1.167 = 10.40, rounded to +10. 1500 + 10 = 1510.",
        "bob: K is 32, because bob had played 12 ranked games in the 7 days before (50 not yet reached). "
        "32 * (0 - 0.557) * 1.167 = -20.81, rounded to -21. 1620 - 21 = 1599.",
        "",
        "     before  change  after",
        "ann    1500     +10   1510",
        "bob    1620     -21   1599",
    ]


def test_a_gammon42_game_without_a_double_by_an_older_formula() -> None:
    text = gammon42(1500, 1500, cube=1, formula_version="1.2.5").text()
    assert "rated by Gammon42's formula 1.2.0, which the match itself asked for." in text
    assert "Cube: Nobody doubled, so the result counts once." in text
    assert "1 / (1 + 10^((1500 - 1500) / 800)) = 0.5." in text
    assert (
        "ann: K is 32 for everyone in this formula. 32 * (1 - 0.5) * 1 = 16.00, rounded to +16. 1500 + 16 = 1516."
        in text
    )


def blitzgammon(winner: float = 1500, loser: float = 1500, **changed: Any) -> Table:
    table = Table("blitzgammon")
    table.seat(winner, "ann")
    table.seat(loser, "bob")
    table.match(**changed)
    return table


def test_a_blitzgammon_match_whose_analysis_is_awaited() -> None:
    assert blitzgammon(1600, 1500).sentences() == [
        "ann beat bob in blitzgammon on 2026-11-01 12:00:00 UTC (match m-1).",
        "It was rated by BlitzGammon's rating rule.",
        "",
        "Chances: ann had 1600 and bob 1500, so ann was expected to win with "
        "1 / (1 + 10^((1500 - 1600) / 800)) = 0.571.",
        "K: 32 - 0.012 * (1600 + 1500) / 2 = 13.4, within 5 and 16.",
        "Full change: A match to 5 points: 5^0.75 * 13.4 * (1 - 0.571) = 19.2009, rounded to 19.20.",
        "ann: 1600 + 19.20, rounded to 1619.",
        "bob: 1500 - 19.20, rounded to 1481.",
        "",
        "     before  change  after",
        "ann    1600     +19   1619",
        "bob    1500     -19   1481",
        "",
        f"A PR analysis is awaited until {PR_WAIT}; if it says that ann played worse, the change counts half.",
        "In all, this match has moved ann by +19 and bob by -19.",
    ]


def test_once_the_time_for_analyses_is_over_the_full_change_stands() -> None:
    assert f"No PR analysis came by {PR_WAIT}, so the full change stands." in blitzgammon().text(AFTER_IT_SETTLED)


def test_a_blitzgammon_match_that_came_halved() -> None:
    text = blitzgammon(prs=(9.5, 4.25)).text()
    assert "Full change: A match to 5 points: 5^0.75 * 14 * (1 - 0.5) = 23.4059.\n" in text
    assert "Halved: ann won, but played worse by PR, so the change counts half: 11.7030, rounded to 11.70.\n" in text
    assert "ann: 1500 + 11.70, rounded to 1512.\nbob: 1500 - 11.70, rounded to 1488.\n" in text
    assert "The PR analysis came with the match: ann won but played worse, so the change counts half." in text


def test_an_analysis_that_was_there_before_its_match() -> None:
    table = Table("blitzgammon")
    table.analysis(4.0, 9.0, 3)
    table.match()
    assert (
        "The PR analysis (revision 3) was there before it: ann did not play worse, or there is no PR for one of the "
        "two, so the full change counts." in table.text()
    )


def test_a_late_halving_says_what_went_to_the_rating_of_then() -> None:
    table = blitzgammon()
    table.match("m-2", "cem", "ann", at=AT + SECOND)
    table.analysis(9.5, 4.25)
    assert table.sentences()[-4:] == [
        "PR analysis revision 1 settled it after it had been rated: ann won, but played worse by PR, so the change "
        "counts half: 11.7030, rounded to 11.70.",
        "ann: 1500 + 11.70, rounded to 1512, makes +12 instead of +23, so -11 went to the rating ann had by then.",
        "bob: 1500 - 11.70, rounded to 1488, makes -12 instead of -23, so +11 went to the rating bob had by then.",
        "In all, this match has moved ann by +12 and bob by -12.",
    ]


def test_an_analysis_that_changes_nothing_says_so() -> None:
    table = blitzgammon()
    table.analysis(4.25, 9.5)
    assert "ann: 1500 + 23.41, rounded to 1523, makes +23, as at first." in table.text()


def test_the_floor_is_told() -> None:
    text = blitzgammon(100, 105).text()
    assert "bob: 105 - 26.94 would make 78, but nobody falls below 100." in text


def test_a_floor_that_a_late_halving_makes_unnecessary_is_told() -> None:
    table = blitzgammon(100, 120)
    assert "bob: 120 - 27.52 would make 92, but nobody falls below 100." in table.text()
    table.analysis(9.0, 4.0)
    assert (
        "bob: 120 - 13.76, rounded to 106, makes -14 instead of -20, so +6 went to the rating bob had" in table.text()
    )


def test_a_floor_that_a_late_full_change_meets_is_told() -> None:
    table = blitzgammon(100, 120, prs=(9.0, 4.0))
    table.analysis(4.0, 9.0)
    assert "bob: 120 - 27.52 would make 92, but nobody falls below 100, which makes -20 instead of -14" in table.text()


def test_what_the_floor_keeps_of_a_late_halving_is_told() -> None:
    table = blitzgammon(100, 200, prs=(9.0, 4.0))
    table.state.rows["bob"] = replace(table.state.rows["bob"], rating=103)
    table.analysis(4.0, 9.0)
    assert "; the floor kept 13 points." in table.text()
    assert "In all, this match has moved ann by +31 and bob by -18." in table.text()


def test_a_nardeon_match() -> None:
    table = Table("nardeon")
    table.seat(1500.0, "ann", experience=120, rated_games=30)
    table.seat(1520.25, "bob", experience=400, rated_games=90)
    table.match()
    assert table.sentences() == [
        "ann beat bob in nardeon on 2026-11-01 12:00:00 UTC (match m-1).",
        "It was rated by NARDEON's formula, that of FIBS, which rounds nothing: two decimals are shown.",
        "",
        "Chances: ann had 1500.00 and bob 1520.25, so over 5 points ann was expected to win with "
        "1 / (1 + 10^(-(1500.00 - 1520.25) * sqrt(5) / 2000)) = 0.487.",
        "Change: 4 * sqrt(5) * (1 - 0.487) = 4.59.",
        "ann: With 120 points of experience the change counts 5 - 120 / 100 = 3.8 times: +17.44. "
        "1500.00 + 17.44 = 1517.44. The 5 points of the match make it 125 of experience.",
        "bob: With 400 points of experience the change counts once: -4.59. "
        "1520.25 - 4.59 = 1515.66. The 5 points of the match make it 405 of experience.",
        "",
        "      before  change    after",
        "ann  1500.00  +17.44  1517.44",
        "bob  1520.25   -4.59  1515.66",
    ]


def test_a_season0_game() -> None:
    table = Table("season0")
    table.seat(1200, "ann")
    table.seat(1250, "bob")
    table.match()
    assert table.sentences()[1:6] == [
        "It was rated by Season 0's rating rule.",
        "",
        "Chances: ann had 1200 and bob 1250, so ann was expected to win with "
        "1 / (1 + 10^((1250 - 1200) / 400)) = 0.429, and bob with 0.571.",
        "ann: K is 16 for everyone. 16 * (1 - 0.429) = 9.14, rounded to +9. 1200 + 9 = 1209.",
        "bob: K is 16 for everyone. 16 * (0 - 0.571) = -9.14, rounded to -9. 1250 - 9 = 1241.",
    ]


def test_a_season0_game_in_a_pool_with_tiers() -> None:
    tiers = "[{ from_games = 0, k = 40 }, { from_games = 30, k = 16 }]"
    table = Table("season0", k_tiers=tiers)
    table.seat(1200, "ann", rated_games=31)
    table.seat(1200, "bob", rated_games=3)
    table.match()
    assert "ann: K is 16 by the number of games ann had played before. 16 * (1 - 0.5) = 8.00" in table.text()
    assert "bob: K is 40 by the number of games bob had played before. 40 * (0 - 0.5) = -20.00" in table.text()


@pytest.mark.parametrize(
    ("ruleset", "changed", "why"),
    [
        ("gammon42", {"mode": "tournament"}, "it was a tournament game, and only ranked games count"),
        ("blitzgammon", {"mode": "casual"}, "it was a casual match"),
        ("nardeon", {"same_network": True}, "both players came from the same address"),
        ("season0", {"kinds": ("account", "bot")}, "a bot played in it"),
    ],
)
def test_an_excluded_match_names_its_rule(ruleset: str, changed: Mapping[str, Any], why: str) -> None:
    table = Table(ruleset)
    table.match(**changed)
    assert table.sentences()[1:] == [f"It does not count, because {why}."]


def test_there_are_words_for_every_reason_of_the_wire_contract() -> None:
    schema = json.loads(packaged("schemas/match-excluded.schema.json").read_text())
    assert set(schema["properties"]["reason"]["enum"]) == set(WHY)


def test_settings_that_have_changed_since_are_admitted() -> None:
    table = Table("season0")
    table.match()
    other = pool_of("season0", k_tiers="[{ from_games = 0, k = 24 }]")
    assert "The pool's settings have changed since" in table.text(pool=other)
    assert "The pool's settings have changed since" not in table.text()


@pytest.mark.parametrize(
    ("ruleset", "settings"),
    [
        ("gammon42", "heavy_k = 20\nk = 20"),
        ("blitzgammon", "k_base = 40\nk_max = 20"),
        ("nardeon", "k = 5"),
    ],
)
def test_other_settings_are_admitted_in_every_ruleset(ruleset: str, settings: str) -> None:
    table = Table(ruleset)
    table.match()
    other = parse_pools(f'[pools.{ruleset}]\nruleset = "{ruleset}"\n{settings}\n')[ruleset]
    assert "The pool's settings have changed since" in table.text(pool=other)
    assert "The pool's settings have changed since" not in table.text()


def test_a_number_is_shown_as_exactly_as_its_rounding_needs() -> None:
    table = Table("blitzgammon")
    table.seat(2165, "ann")
    table.seat(2165, "bob")
    table.match(length=1, prs=(9.0, 4.0))
    assert "counts half: 1.50499999999999" in table.text()
    assert "rounded to 1.50." in table.text()


def test_ids_cannot_play_with_the_terminal() -> None:
    table = Table("season0")
    table.match(winner="\x1b[2Jann", loser="bob\nbob")
    assert "\x1b" not in table.text()
    assert "\\x1b[2Jann beat bob\\nbob in season0" in table.text()


def test_json_has_the_same_unrounded() -> None:
    table = Table("nardeon")
    table.seat(1500.0, "ann", experience=120)
    table.seat(1520.25, "bob", experience=400)
    table.match()
    found = json.loads(json.dumps(as_json(explain(table.pool, table.record, SOON))))
    change = table.values()[0]
    assert found["players"][0] == {
        "player_id": "ann",
        "before": 1500.0,
        "change": change["change"],
        "after": change["after"],
        "standing": change["change"],
        "terms": change["details"],
    }
    assert [step["about"] for step in found["steps"]] == ["Chances", "Change", "ann", "bob"]
    assert "analysis" not in found


def test_the_command_explains_what_a_worker_rated(standing: Standing) -> None:
    match = finished("blitzgammon", "m-1", "ann", "bob")
    standing.rate(match, analyzed("blitzgammon", "m-1", (9.5, 4.25), 2))
    text = told(standing.run("explain", "blitzgammon", "m-1"))
    assert "PR analysis revision 2 settled it after it had been rated: ann won, but played worse by PR" in text
    found = json.loads(told(standing.run("explain", "blitzgammon", "m-1", "--json")))
    assert (found["position"], found["source"], found["excluded_reason"]) == (1, "match-finished/0/0", None)
    assert found["settings_unchanged"]
    assert (found["analysis"]["revision"], found["analysis"]["halved"]) == (2, True)
    assert [(player["change"], player["standing"]) for player in found["players"]] == [(23, 12), (-23, -12)]
    assert found["analysis"]["says"][0] in text


def test_the_command_gives_the_reason_of_an_excluded_match(standing: Standing) -> None:
    standing.rate(finished("nardeon", "m-1", "ann", "bob", mode="club"))
    found = json.loads(told(standing.run("explain", "nardeon", "m-1", "--json")))
    assert found["excluded_reason"] == "club-table"
    assert "players" not in found


def test_fifty_games_in_a_week_are_found_in_what_a_worker_rated(standing: Standing) -> None:
    games = [finished("gammon42", f"m-{n:02d}", f"p{n:02d}", "bob", at=AT + n * HOUR) for n in range(51)]
    standing.rate(*games)
    text = told(standing.run("explain", "gammon42", "m-50"))
    assert "p50: K is 32, because p50 had played 0 ranked games in the 7 days before (50 not yet reached)." in text
    assert "bob: K is 16, because bob had played 50 ranked games in the 7 days before (50 or more)." in text


def test_a_match_that_is_not_known_gets_one_sentence_and_code_1(standing: Standing) -> None:
    result = standing.run("explain", "season0", "m-9")
    assert result.exit_code == 1
    assert re.fullmatch(r"There is no match m-9 in season0: it never came, .*\.\n", result.stderr)


def test_analyses_that_wait_for_it_are_mentioned(standing: Standing) -> None:
    standing.rate(analyzed("blitzgammon", "m-9", (1.0, 2.0)), analyzed("blitzgammon", "m-9", (1.0, 2.0), 2))
    assert "2 analyses wait for it." in standing.run("explain", "blitzgammon", "m-9").stderr


def test_a_pool_that_is_not_configured_gets_one_sentence_and_code_1(standing: Standing) -> None:
    result = standing.run("explain", "chess", "m-1")
    assert (result.exit_code, result.stderr) == (1, f"There is no pool chess; the pools are {', '.join(POOLS)}.\n")
