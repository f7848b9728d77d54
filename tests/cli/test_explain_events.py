"""What an event is told to be to what is known: the same again, another, new, or nothing that can be taken."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.asking import LATER, as_sent, ask, says
from tests.cli.standing import Standing, told
from tests.ratings.ladder import AT, DAY, HOUR, SECOND, Ladder, analyzed, finished
from worker.cli.explain.event import kind_of
from worker.cli.explain.exclusions import RULES
from worker.cli.explain.told import Told
from worker.ratings.events import MatchAnalyzed
from worker.rules.match import MatchFinished

NOTHING = "Nothing changes, and nothing is owed a second answer."
SETTLES_BY = "2026-12-01 12:00:00 UTC"


def blitz(**changed: Any) -> MatchFinished:
    return finished("blitzgammon", "m-1", "ann", "bob", **changed)


def analysis(revision: int = 1, *, halves: bool = True, **changed: Any) -> MatchAnalyzed:
    return analyzed("blitzgammon", "m-1", (9.0, 4.0) if halves else (4.0, 9.0), revision, **changed)


class TestAMatch:
    def test_again_is_a_duplicate(self) -> None:
        assert says(ask("blitzgammon", [blitz()], blitz())) == [
            "This is the match m-1 again, with the same content: a duplicate. "
            "What came as match-finished/0/0 and was rated at position 1 stands.",
            NOTHING,
        ]

    def test_again_with_prs_says_that_they_count_for_nothing(self) -> None:
        assert says(ask("blitzgammon", [blitz()], blitz(prs=(9.0, 4.0))))[1] == (
            f"{NOTHING} PRs are no part of the content, and those that this one brings count for nothing: "
            "match-analyzed is for them."
        )

    def test_that_was_excluded_is_a_duplicate_too(self) -> None:
        first, _ = says(ask("blitzgammon", [blitz(mode="casual")], blitz(mode="casual")))
        assert first.endswith("What came as match-finished/0/0 and was excluded (casual) stands.")

    @pytest.mark.parametrize(
        ("changed", "field", "here", "known"),
        [
            ({"length": 7}, "/length", "7", "5"),
            ({"at": AT + 5}, "/finished_at", '"2026-11-01T12:00:00.005Z"', '"2026-11-01T12:00:00.000Z"'),
            ({"kinds": ("account", "bot")}, "/loser/kind", '"bot"', '"account"'),
            ({"win_type": "gammon", "end_reason": "left"}, "/end_reason", '"left"', '"completed"'),
            ({"win_type": "gammon"}, "/win_type", '"gammon"', "nothing"),
        ],
    )
    def test_with_other_content_is_a_conflict(self, changed: dict[str, Any], field: str, here: str, known: str) -> None:
        answer = ask("blitzgammon", [blitz()], blitz(**changed))
        assert says(answer) == [
            "The match m-1 is known in blitzgammon with other content, so this one is a conflict: it becomes a dead "
            "letter in match-finished.dlt (reason conflict), and nothing changes. What came as match-finished/0/0 and "
            "was rated at position 1 stands.",
            f"The first field that differs is {field}: {here} here, {known} in what is known. A new match "
            "needs a new match_id.",
        ]
        assert isinstance(answer, Told)
        assert answer.facts["difference"]["field"] == field
        assert (answer.facts["outcome"], answer.facts["reason"]) == ("dead-letter", "conflict")

    def test_of_another_winner_is_a_conflict(self) -> None:
        other = finished("blitzgammon", "m-1", "cem", "bob")
        assert '/winner/player_id: "cem" here, "ann" in what is known' in says(ask("blitzgammon", [blitz()], other))[1]

    def test_that_is_new_would_be_rated(self) -> None:
        [sentence] = says(ask("blitzgammon", [], blitz()))
        assert sentence.startswith("The match m-1 is not known in blitzgammon yet. It would be rated, because no rule")
        assert sentence.endswith(RULES["blitzgammon"])

    def test_that_is_new_and_late_says_for_whom(self) -> None:
        later = finished("blitzgammon", "m-2", "bob", "cem", at=AT + SECOND)
        assert "It would be late for bob, and nothing that was rated would be rated anew." in says(
            ask("blitzgammon", [later], blitz())
        )

    def test_that_analyses_wait_for_says_which_would_settle_it(self) -> None:
        waiting = [analysis(1), analysis(3), analysis(4, players=("ann", "cem"))]
        assert says(ask("blitzgammon", waiting, blitz()))[-1] == (
            "3 PR analyses wait for it, and revision 3 would settle it at once; 1 analysis would become a dead letter."
        )

    def test_that_is_new_would_be_excluded(self) -> None:
        first, rule, nothing = says(ask("blitzgammon", [analysis()], blitz(mode="casual")))
        assert first == (
            "The match m-1 is not known in blitzgammon yet. It would not count, because it was a casual match."
        )
        assert "This match falls under 'casual'" in rule
        assert nothing == (
            "Nothing would change for either player: no rating, no number of games, no experience. "
            "1 analysis that waits for it would do nothing."
        )

    def test_from_before_the_horizon_is_too_late(self) -> None:
        [sentence] = says(ask("blitzgammon", [], blitz(), horizon_ms=AT + 1))
        assert "(reason too-late), and nothing changes. The match at /finished_at ended before this pool's" in sentence


class TestWhatCannotBeTaken:
    @pytest.mark.parametrize(
        ("value", "reason", "message"),
        [
            (b"{", "not-json", "The value must be JSON in UTF-8"),
            (b"", "not-json", "The value is empty"),
            (b"[]", "schema", "The value must be an object"),
            (as_sent(blitz(), length=0), "schema", "/length must be"),
            (as_sent(blitz(), pool="chess"), "unknown-pool", "/pool must be one of"),
            (as_sent(finished("blitzgammon", "m-1", "ann", "ann")), "self-match", "/loser/player_id must be"),
        ],
    )
    def test_says_why_whenever_it_was_published(self, value: bytes, reason: str, message: str) -> None:
        [sentence] = says(ask("blitzgammon", [], value, published_at=None))
        assert sentence.startswith(
            f"This is not acceptable: it becomes a dead letter in match-finished.dlt (reason {reason}), and nothing "
            f"changes. {message}"
        )

    def test_by_its_age_says_that_this_goes_by_the_records_timestamp(self) -> None:
        [too_late] = says(ask("blitzgammon", [], blitz(), published_at=AT + 31 * DAY))
        assert "(reason too-late)" in too_late
        [early] = says(ask("blitzgammon", [], blitz(), published_at=AT - HOUR))
        assert "(reason in-the-future)" in early
        _, unsaid = says(ask("blitzgammon", [], blitz(), published_at=None))
        assert unsaid == (
            "This goes by now, 2026-11-01 14:00:00 UTC, as the record's timestamp: with --published-at it is judged as "
            "of when it was published."
        )

    def test_is_not_an_event_about_something_else(self) -> None:
        assert ask("blitzgammon", [], blitz(), identifier="m-2") == (
            "The event has the match_id m-1, not m-2: ask for that one."
        )
        assert ask("gammon42", [], blitz()) == "The event is for the pool blitzgammon, not gammon42: ask for that one."


class TestAnAnalysis:
    def test_that_is_the_first_would_settle_the_match(self) -> None:
        assert says(ask("blitzgammon", [blitz()], analysis())) == [
            "Revision 1 of the analysis of m-1 would be the first to settle the match: by its PRs the change counts "
            "half, and now it counts in full.",
            "The difference would go to the ratings that both have when a worker applies it. That counts for what is "
            f"published by {SETTLES_BY} (by the record's timestamp) and is too late for what is not.",
        ]

    def test_of_a_higher_revision_would_correct_it(self) -> None:
        first, _ = says(ask("blitzgammon", [blitz(), analysis(3)], analysis(5, halves=False)))
        assert first == (
            "Revision 5 of the analysis of m-1 would take the place of revision 3: by its PRs the change counts in "
            "full, and now it counts half."
        )

    def test_of_a_revision_that_is_not_higher_is_a_duplicate(self) -> None:
        assert says(ask("blitzgammon", [blitz(), analysis(3)], analysis(2, halves=False))) == [
            "Revision 2 of the analysis of m-1 is a duplicate: the match stands by revision 3, which is not lower. "
            f"{NOTHING}",
            "A correction needs a revision higher than 3.",
        ]

    def test_of_other_players_does_not_fit(self) -> None:
        first, players = says(ask("blitzgammon", [blitz()], analysis(players=("ann", "cem"))))
        assert "(reason players-mismatch)" in first
        assert players == "The players of m-1 are ann and bob; the analysis names ann and cem."

    def test_published_after_settles_by_is_too_late(self) -> None:
        late = ask("blitzgammon", [blitz()], analysis(at=AT + 30 * DAY), published_at=AT + 30 * DAY + 1)
        first, until = says(late)
        assert "(reason too-late)" in first
        assert until == f"The match's settles_by is {SETTLES_BY}."
        assert len(says(ask("blitzgammon", [blitz()], analysis(at=AT + 30 * DAY), published_at=AT + 30 * DAY))) == 2

    def test_without_its_match_would_wait(self) -> None:
        assert says(ask("blitzgammon", [], analysis())) == [
            "The match m-1 has not come to blitzgammon yet. Revision 1 of the analysis of m-1 would wait for it, and "
            "change nothing until then."
        ]
        [again] = says(ask("blitzgammon", [analysis()], analysis()))
        assert "waits for the match already: this is a duplicate." in again

    def test_that_would_be_pushed_out_says_so(self) -> None:
        [sentence] = says(ask("blitzgammon", [analysis(revision) for revision in range(2, 10)], analysis(1)))
        assert sentence.endswith("would not be kept: as many analyses of m-1 as are kept wait for the match already.")

    def test_of_an_excluded_match_or_in_another_ruleset_does_nothing(self) -> None:
        assert says(ask("blitzgammon", [blitz(mode="casual")], analysis())) == [
            "Revision 1 of the analysis of m-1 does nothing: the match does not count, because it was a casual match."
        ]
        assert says(ask("gammon42", [], analyzed("gammon42", "m-1", (1.0, 2.0)))) == [
            "Revision 1 of the analysis of m-1 does nothing: PRs change no rating in gammon42, a gammon42 pool."
        ]


@pytest.mark.parametrize(
    ("event", "kind"),
    [(blitz(), "match-finished"), (analysis(), "match-analyzed")],
)
def test_the_kind_of_an_event_is_told_by_its_fields(event: MatchFinished | MatchAnalyzed, kind: str) -> None:
    assert kind_of(as_sent(event)) == kind


@given(
    known=st.lists(
        st.sampled_from([blitz(), blitz(mode="casual"), analysis(1), analysis(4, halves=False)]), max_size=3
    ),
    event=st.sampled_from(
        [blitz(), blitz(length=7), blitz(mode="casual"), analysis(2), analysis(5, players=("x", "y"))]
    ),
)
def test_what_is_told_is_what_a_worker_would_do(known, event) -> None:
    ladder = Ladder()
    for one in known:
        ladder.send(one)
    outcome = ladder.send(event, LATER)
    answer = ask("blitzgammon", known, event)
    assert isinstance(answer, Told)
    assert answer.facts["outcome"] == outcome.kind.value
    assert answer.facts["reason"] == (
        outcome.letters[0].refusal.reason.value if not outcome.changes and outcome.letters else None
    )


class TestTheCommand:
    def test_reads_an_event_from_a_file_and_changes_nothing(self, standing: Standing, tmp_path: Path) -> None:
        standing.rate(blitz())
        sent = tmp_path / "event.json"
        sent.write_bytes(as_sent(blitz(length=7)))
        before = told(standing.run("explain", "blitzgammon", "m-1"))
        arguments = ("explain", "blitzgammon", "m-1", "--event", str(sent), "--published-at", "2026-11-01T13:00:00Z")
        assert "so this one is a conflict" in told(standing.run(*arguments))
        found = json.loads(told(standing.run(*arguments, "--json")))
        assert found["difference"] == {"field": "/length", "sent": 7, "known": 5}
        assert (found["kind"], found["known_source"]) == ("match-finished", "match-finished/0/0")
        assert (found["published_at"], found["published_at_given"]) == ("2026-11-01T13:00:00.000Z", True)
        assert told(standing.run("explain", "blitzgammon", "m-1")) == before

    def test_reads_an_event_from_standard_input(self, standing: Standing) -> None:
        result = standing.run("explain", "blitzgammon", "m-1", "--event", "-", typed=b"{")
        assert "(reason not-json)" in told(result)

    def test_refuses_what_is_about_another_match(self, standing: Standing) -> None:
        result = standing.run("explain", "blitzgammon", "m-9", "--event", "-", typed=as_sent(blitz()))
        assert (result.exit_code, result.stderr) == (
            1,
            "The event has the match_id m-1, not m-9: ask for that one.\n",
        )

    @pytest.mark.parametrize(
        "arguments", [("--published-at", "2026-11-01T13:00:00Z"), ("--event", "-", "--published-at", "x")]
    )
    def test_refuses_a_timestamp_that_means_nothing(self, standing: Standing, arguments: tuple[str, ...]) -> None:
        assert standing.run("explain", "blitzgammon", "m-1", *arguments, typed=b"{}").exit_code == 2
