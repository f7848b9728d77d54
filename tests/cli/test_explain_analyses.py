"""What players are told about the PR analyses of a match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cli.table import AFTER_IT_SETTLED, PR_WAIT, SOON, Table, blitzgammon
from tests.ratings.ladder import AT, HOUR, SECOND
from worker.cli.explain.match import as_json, explain
from worker.ratings.analysis import EXCHANGES
from worker.rules.pools import parse_pools

WORSE_AGAIN = "ann won, but played worse than bob by PR (9.5 against 4.25; lower is better)"
REVISION_1 = "PR analysis revision 1, made at 2026-11-01 13:00:00 UTC, settled it after it had been rated:"


def test_a_match_whose_analysis_is_awaited() -> None:
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
        f"A PR analysis is awaited until {PR_WAIT}; if it says that ann played worse, the change counts half. "
        "Until then it is not final.",
        "In all, this match has moved ann by +19 and bob by -19.",
    ]


def test_once_the_time_for_analyses_is_over_the_full_change_stands() -> None:
    text = blitzgammon().text(AFTER_IT_SETTLED)
    assert f"No PR analysis came by {PR_WAIT}, so the full change stands and is final." in text


def test_a_match_that_came_halved() -> None:
    text = blitzgammon(prs=(9.5, 4.25)).text()
    assert "Full change: A match to 5 points: 5^0.75 * 14 * (1 - 0.5) = 23.4059.\n" in text
    assert "Halved: ann won, but played worse by PR, so the change counts half: 11.7030, rounded to 11.70.\n" in text
    assert "ann: 1500 + 11.70, rounded to 1512.\nbob: 1500 - 11.70, rounded to 1488.\n" in text
    assert f"The PRs came with the match: {WORSE_AGAIN}, so the change counts half.\n" in text
    assert f"This is final, unless a PR analysis is published by {PR_WAIT}.\n" in text


def test_a_tie_keeps_the_full_change() -> None:
    tie = "The PRs came with the match: ann and bob both played with a PR of 4, and a tie keeps the full change.\n"
    assert tie in blitzgammon(prs=(4.0, 4.0)).text()


def test_prs_are_shown_as_exactly_as_they_are_compared() -> None:
    text = blitzgammon(prs=(4.0000000000000009, 4.0)).text()
    assert "(4.000000000000001 against 4; lower is better)" in text


def test_an_analysis_that_was_there_before_its_match() -> None:
    table = Table("blitzgammon")
    table.analysis(4.0, 9.0, 3)
    table.match()
    assert (
        "PR analysis revision 3 was there before it: ann played better than bob by PR (4 against 9; lower is better), "
        "so the full change counts.\n"
        "This is final, unless a higher revision than 3 of the analysis is published by" in table.text()
    )


def test_a_late_halving_says_what_went_to_the_rating_of_then() -> None:
    table = blitzgammon()
    table.match("m-2", "cem", "ann", at=AT + SECOND)
    table.analysis(9.5, 4.25)
    assert table.sentences(AFTER_IT_SETTLED)[-6:] == [
        "When the match came, there was no PR analysis of it yet, so it was rated with the full change at first.",
        f"{REVISION_1} {WORSE_AGAIN}, so the change counts half: 11.7030, rounded to 11.70.",
        "ann: 1500 + 11.70, rounded to 1512, makes +12 instead of +23, so -11 went to the rating ann had by then: "
        "1499 - 11 = 1488.",
        "bob: 1500 - 11.70, rounded to 1488, makes -12 instead of -23, so +11 went to the rating bob had by then: "
        "1477 + 11 = 1488.",
        f"This is final: analyses of it counted until {PR_WAIT}.",
        "In all, this match has moved ann by +12 and bob by -12.",
    ]


def test_an_analysis_without_a_result_says_whose_pr_is_missing() -> None:
    table = blitzgammon()
    table.analysis(None, 9.5)
    assert f"{REVISION_1} it has no PR for ann, so the full change counts.\n" in table.text()
    table.analysis(None, None, 2)
    assert "it has no PR for ann and bob, so the full change counts." in table.text()


def test_an_analysis_that_changes_nothing_says_so() -> None:
    table = blitzgammon()
    table.analysis(4.25, 9.5)
    assert "ann: 1500 + 23.41, rounded to 1523, makes +23, as before, so ann stayed at 1523.\n" in table.text()


def test_a_flip_says_what_it_overturns() -> None:
    table = blitzgammon(prs=(9.5, 4.25))
    table.analysis(4.0, 9.0)
    table.analysis(3.0, 9.0, 2)
    table.analysis(9.5, 4.25, 7)
    text = table.text()
    assert "It overturns the PRs that came with the match, by which the change counted half.\n" in text
    assert "It takes the place of revision 1, which came to the same.\n" in text
    assert "11.7030, rounded to 11.70. It overturns revision 2, by which the change counted in full.\n" in text
    assert "makes +12 instead of +23, so -11 went to the rating ann had by then: 1523 - 11 = 1512.\n" in text


def test_earlier_analyses_are_left_out_where_there_are_many() -> None:
    table = blitzgammon(prs=(9.5, 4.25))
    for revision in range(1, EXCHANGES + 4):
        table.analysis(*((4.0, 9.0) if revision % 2 else (9.5, 4.25)), revision)
    text = table.text()
    assert "What came of 3 analyses before revision 4 is left out here: only the newest 8 are kept.\n" in text
    assert "revision 3," not in text
    assert "which came to the same" not in text, "what revision 4 took the place of is not known any more"
    assert "makes +12 instead of +23, so -11 went to the rating ann had by then: 1523 - 11 = 1512.\n" in text


def test_the_floor_is_told() -> None:
    text = blitzgammon(100, 105).text()
    assert (
        "bob: 105 - 26.94 would make 78, but nobody falls below 100. The floor swallowed 22 points; they are not owed."
        in text
    )


def test_a_floor_that_a_late_halving_makes_unnecessary_is_told() -> None:
    table = blitzgammon(100, 120)
    assert "bob: 120 - 27.52 would make 92, but nobody falls below 100." in table.text()
    table.analysis(9.0, 4.0)
    assert (
        "bob: 120 - 13.76, rounded to 106, makes -14 instead of -20, so +6 went to the rating bob had by then: "
        "100 + 6 = 106." in table.text()
    )


def test_a_floor_that_a_late_full_change_meets_is_told() -> None:
    table = blitzgammon(100, 120, prs=(9.0, 4.0))
    table.analysis(4.0, 9.0)
    assert "bob: 120 - 27.52 would make 92, but nobody falls below 100, which makes -20 instead of -14" in table.text()


def test_what_the_floor_swallows_of_an_analysis_is_told_and_not_owed() -> None:
    table = blitzgammon(100, 200, prs=(9.0, 4.0))
    table.state.rows["bob"] = replace(table.state.rows["bob"], rating=103)
    table.analysis(4.0, 9.0)
    assert (
        "makes -31 instead of -15, so -16 was due on the rating bob had by then, 103, but nobody falls below 100: "
        "103 - 3 = 100. The floor swallowed 13 points; they are not owed.\n" in table.text()
    )
    assert "In all, this match has moved ann by +31 and bob by -18." in table.text()


def test_an_exchange_under_other_settings_is_told_by_its_own_numbers() -> None:
    table = blitzgammon()
    table.analysis(9.5, 4.25)
    other = parse_pools('[pools.blitzgammon]\nruleset = "blitzgammon"\npr_loss_multiplier = 0.25\n')["blitzgammon"]
    text = table.text(pool=other)
    assert "ann: by the settings of then the match makes +12 instead of +23, so -11 went to the rating" in text
    assert "The pool's settings have changed since" in text


RATINGS = st.integers(100, 140) | st.integers(100, 2500)
PRS = st.none() | st.sampled_from([0.0, 3.5, 4.0, 9.25])
STEPS = st.one_of(
    st.tuples(st.just("analysis"), PRS, PRS, st.integers(1, 12)),
    st.tuples(st.just("match"), st.sampled_from([("ann", "cem"), ("cem", "ann"), ("cem", "bob"), ("bob", "cem")])),
)


@pytest.mark.parametrize("parked", [False, True])
@given(data=st.data(), ann=RATINGS, bob=RATINGS, prs=st.tuples(PRS, PRS), steps=st.lists(STEPS, max_size=16))
def test_what_is_explained_is_what_was_published(parked, data, ann, bob, prs, steps) -> None:
    table = Table("blitzgammon")
    table.seat(ann, "ann")
    table.seat(bob, "bob")
    if parked:
        table.analysis(data.draw(PRS), data.draw(PRS), data.draw(st.integers(1, 12)))
    table.match(prs=prs)
    for number, (kind, *step) in enumerate(steps):
        if kind == "analysis":
            table.analysis(*step)
        else:
            table.match(f"m-{number + 2}", *step[0], at=AT + (number - 8) * HOUR)
    found = as_json(explain(table.pool, table.record, SOON))
    of_it = [value for value in table.values() if value["cause"]["match_id"] == "m-1"]
    for player in found["players"]:
        first, *later = [value for value in of_it if value["player_id"] == player["player_id"]]
        same = ("before", "change", "after", "late")
        assert [player[name] for name in same] == [first[name] for name in same]
        assert player["standing"] == sum(value["change"] for value in (first, *later))
        assert found["analysis"]["final"] is (later or [first])[-1]["final"]
        exchanged = [
            (exchange["revision"], exchange["halved"], *(side[name] for name in same[:3]), side["floored_by"])
            for exchange in found["analysis"]["exchanges"]
            for side in exchange["players"]
            if side["player_id"] == player["player_id"]
        ]
        assert exchanged == [
            (
                value["cause"]["revision"],
                value["details"]["halved"],
                *(value[name] for name in same[:3]),
                value["details"]["floored_by"],
            )
            for value in later[-EXCHANGES:]
        ]
        text = "\n".join(found["analysis"]["says"])
        for value in later[-EXCHANGES:]:
            moved = (
                f"{value['before']} {'-' if value['change'] < 0 else '+'} {abs(value['change'])} = {value['after']}."
            )
            assert moved in text or f"{player['player_id']} stayed at {value['after']}." in text
