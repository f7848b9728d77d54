"""What players are told about a match: one ruleset and case after the other, as they read it."""

import json

import pytest
from msgspec.structs import replace

from tests.cli.standing import Standing, told
from tests.cli.table import SOON, Table, gammon42
from tests.ratings.ladder import AT, HOUR, POOLS, SECOND, analyzed, finished, pool_of
from worker.cli.explain.match import as_json, explain
from worker.rules.pools import parse_pools


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
    assert (
        "rated by Gammon42's formula 1.2.0, the newest of this pool's published versions that is not after 1.2.5, "
        "which the match itself asked for." in text
    )
    assert "Cube: Nobody doubled, so the result counts once." in text
    assert "1 / (1 + 10^((1500 - 1500) / 800)) = 0.5." in text
    assert (
        "ann: K is 32 for everyone in this formula. 32 * (1 - 0.5) * 1 = 16.00, rounded to +16. 1500 + 16 = 1516."
        in text
    )


NEWEST = "the newest of this pool's published versions that is not after"


@pytest.mark.parametrize(
    ("asked_for", "told"),
    [
        ("9.9.9", f"1.3.1, {NEWEST} 9.9.9, which the match itself asked for."),
        ("1.3.0", f"1.2.0, {NEWEST} 1.3.0, which the match itself asked for."),
        ("1.3.1", "1.3.1, which the match itself asked for."),
        ("1.03.001", "1.3.1, which the match itself asked for."),
    ],
)
def test_a_gammon42_game_that_asks_for_a_version_is_told_which_one_it_got(asked_for: str, told: str) -> None:
    assert f"rated by Gammon42's formula {told}" in gammon42(formula_version=asked_for).text()


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


LATE = (
    "It came late for ann: a match that ended after it had been applied already. So it was rated when it came, with "
    "both ratings as they stood then, and nothing that had been rated was rated anew."
)


@pytest.mark.parametrize("ruleset", ["gammon42", "blitzgammon", "nardeon", "season0"])
def test_a_match_that_came_late_says_for_whom_and_what_that_means(ruleset: str) -> None:
    table = Table(ruleset)
    table.match("m-2", "ann", "cem", at=AT + SECOND)
    table.match()
    window = " In the windows of ranked games it stands where it belongs." if ruleset == "gammon42" else ""
    assert f"{LATE}{window}" in table.sentences()
    assert as_json(explain(table.pool, table.record, SOON))["says"] == [f"{LATE}{window}"]


def test_a_match_that_is_late_for_both_says_so() -> None:
    table = Table("season0")
    table.match("m-2", "ann", "bob", at=AT + SECOND)
    table.match()
    assert "It came late for ann and for bob: " in table.text()


def test_a_match_that_was_sent_for_a_linked_id_says_who_it_counts_for() -> None:
    table = Table("season0")
    table.match(winner="device-7")
    rated = table.record.rated
    assert rated is not None
    winner = replace(rated.winner, player_id="ann")
    table.state.records["m-1"] = replace(table.record, rated=replace(rated, winner=winner))
    assert table.sentences()[0].startswith("device-7 beat bob in season0 on")
    assert "It was sent for device-7, which is linked to ann: it counts for ann." in table.sentences()
    assert "ann    1200      +8   1208" in table.sentences()


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
        "late": False,
        "terms": change["details"],
    }
    assert [step["about"] for step in found["steps"]] == ["Chances", "Change", "ann", "bob"]
    assert "analysis" not in found


def test_the_command_explains_what_a_worker_rated(standing: Standing) -> None:
    match = finished("blitzgammon", "m-1", "ann", "bob")
    standing.rate(match, analyzed("blitzgammon", "m-1", (9.5, 4.25), 2))
    text = told(standing.run("explain", "blitzgammon", "m-1"))
    assert "settled it after it had been rated: ann won, but played worse than bob by PR (9.5 against 4.25;" in text
    found = json.loads(told(standing.run("explain", "blitzgammon", "m-1", "--json")))
    assert (found["position"], found["source"], found["excluded_reason"]) == (1, "match-finished/0/0", None)
    assert found["settings_unchanged"]
    assert (found["analysis"]["revision"], found["analysis"]["halved"]) == (2, True)
    assert [(player["change"], player["standing"]) for player in found["players"]] == [(23, 12), (-23, -12)]
    assert [exchange["revision"] for exchange in found["analysis"]["exchanges"]] == [2]
    assert all(sentence in text for sentence in found["analysis"]["says"])


def test_fifty_games_in_a_week_are_found_in_what_a_worker_rated(standing: Standing) -> None:
    games = [finished("gammon42", f"m-{n:02d}", f"p{n:02d}", "bob", at=AT + n * HOUR) for n in range(51)]
    standing.rate(*games)
    text = told(standing.run("explain", "gammon42", "m-50"))
    assert "p50: K is 32, because p50 had played 0 ranked games in the 7 days before (50 not yet reached)." in text
    assert "bob: K is 16, because bob had played 50 ranked games in the 7 days before (50 or more)." in text


def test_a_pool_that_is_not_configured_gets_one_sentence_and_code_1(standing: Standing) -> None:
    result = standing.run("explain", "chess", "m-1")
    assert (result.exit_code, result.stderr) == (1, f"There is no pool chess; the pools are {', '.join(POOLS)}.\n")
