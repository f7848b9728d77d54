"""What is told of analyses that wait for their match, and of what is not known at all."""

import json

import pytest

from tests.cli.standing import Standing, told
from tests.cli.table import Table
from tests.ratings.ladder import AT, DAY, HOUR, analyzed
from worker.cli.explain.waiting import parked, unknown


def waiting(*revisions: int, horizon_ms: int = AT - DAY, **changed) -> list[str]:
    table = Table("blitzgammon")
    for number, revision in enumerate(revisions):
        table.analysis(9.5, None, revision, at=AT + (number + 1) * HOUR, **changed)
    return list(parked(table.pool, "m-1", table.state.parked["m-1"], horizon_ms).says)


def test_an_analysis_that_waits_is_told_with_its_players_since_when_and_until_when() -> None:
    assert waiting(3) == [
        "The match m-1 has not come to blitzgammon yet, but 1 PR analysis waits for it, and nobody's rating has "
        "changed.",
        "Revision 3 of ann (PR 9.5) and bob (no PR), made at 2026-11-01 13:00:00 UTC, has waited since "
        "2026-11-01 13:00:01 UTC.",
        "When the match comes, this one, if it names the two players, settles it at once: the match is then rated in "
        "full or half from the start. What names other players becomes a dead letter (players-mismatch), and so does "
        "what was published more than 30 days after the match ended (too-late). If the match turns out not to count, "
        "its analyses do nothing.",
        "It can wait until the pool's horizon, which stands at 2026-10-31 12:00:00 UTC now, has passed "
        "2026-11-01 13:00:00 UTC. The horizon is 30 days behind the newest records, so that is not before "
        "2026-12-01 13:00:00 UTC. Then it is removed, and nothing has changed.",
    ]


def test_several_wait_as_long_as_the_newest_of_them() -> None:
    first, one, other, what, until = waiting(5, 2, horizon_ms=0)
    assert "2 PR analyses wait for it" in first
    assert (one[:10], other[:10]) == ("Revision 2", "Revision 5")
    assert "the highest revision that names its two players settles it at once" in what
    assert until.startswith(
        "They can wait until the pool's horizon, which has not begun to move yet, has passed 2026-11-01 14:00:00 UTC."
    )


def test_the_command_tells_of_them(standing: Standing) -> None:
    standing.rate(analyzed("blitzgammon", "m-9", (1.0, 2.0)), analyzed("blitzgammon", "m-9", (1.0, None), 2))
    assert "2 PR analyses wait for it" in told(standing.run("explain", "blitzgammon", "m-9"))
    found = json.loads(told(standing.run("explain", "blitzgammon", "m-9", "--json")))
    assert [one["revision"] for one in found["parked"]] == [1, 2]
    assert found["parked"][1] == {
        "revision": 2,
        "players": [{"player_id": "ann", "pr": 1.0}, {"player_id": "bob", "pr": None}],
        "analyzed_at": "2026-11-01T13:00:00.000Z",
        "waits_since": "2026-11-01T13:00:01.000Z",
        "source": "match-analyzed/0/1",
    }
    assert found["not_removed_before"] == "2026-12-01T13:00:00.000Z"


def test_what_is_not_known_says_what_was_looked_for_and_what_may_be_the_reason() -> None:
    assert unknown("The match m-9", "there is no record of it", "season0", "match-finished.dlt", 0, "kept") == (
        "The match m-9 is not known in season0: there is no record of it. It may not have arrived yet, or it may have "
        "been refused (then it is in the topic match-finished.dlt, with the reason in its header dlt-reason)."
    )
    assert unknown("The match m-9", "looked", "season0", "match-finished.dlt", AT, "its events are left").endswith(
        ", or it may be from before 2026-11-01 12:00:00 UTC, the pool's horizon, and have been pruned "
        "(its events are left)."
    )


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_command_ends_with_one_sentence_and_code_1_for_it(standing: Standing, more: tuple[str, ...]) -> None:
    result = standing.run("explain", "season0", "m-9", *more)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "The match m-9 is not known in season0: there is no record of it, and no analysis waits for it. "
    )
    assert result.stderr.count("\n") == 1
