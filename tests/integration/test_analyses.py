"""A match and its analyses in any order, through different workers."""

import asyncio
from typing import Any

import pytest

from tests.integration.support.events import analysis, match
from tests.integration.support.promises import Answers, audit
from tests.integration.support.publishing import Sent, publish
from tests.integration.support.reading import until_answered
from tests.integration.support.site import Site
from worker.cli.simulation import DAY_MS, Kind, Published
from worker.cli.simulation.sending import now_ms

RETENTION_MS = 30 * DAY_MS
PARTITIONS = 2
"""Both topics': with two workers, one has the partitions 0 and the other the partitions 1."""

Prs = dict[str, float | None]

PRS: Prs = {"ann": 9.5, "bob": 4.0}
"""The winner played worse, so the change is halved."""


class TwoWorkers:
    """Publishes one record after the other, each to the partition that one of the two workers has."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.sent: list[Sent] = []
        site.create_inputs_of_any_date(PARTITIONS)
        site.apply_topics(PARTITIONS)
        site.start_workers(2)

    def through(self, worker: int, *records: Published) -> None:
        asyncio.run(self._publish(records, worker))

    async def _publish(self, records: tuple[Published, ...], worker: int) -> None:
        self.sent += await publish(self._site, records, lambda _: worker)
        await until_answered(self._site)

    def answers(self) -> Answers:
        return audit(self._site, self.sent)


@pytest.fixture
def workers(site: Site) -> TwoWorkers:
    return TwoWorkers(site)


def _events(answers: Answers, match_id: str) -> list[tuple[str, int, bool, bool, int | None]]:
    """Return what was said of a match's winner, in order: cause, sign of the change, final, halved, revision."""
    said = [change.value for change in answers.distinct.values() if change.value["cause"]["match_id"] == match_id]
    return [
        (
            value["cause"]["type"],
            (value["change"] > 0) - (value["change"] < 0),
            value["final"],
            value["details"]["halved"],
            value["details"]["revision"],
        )
        for value in sorted(said, key=lambda value: value["position"])
        if value["player_id"] == "ann"
    ]


def test_an_analysis_before_after_and_long_after_its_match_settles_it_through_whichever_worker(
    workers: TwoWorkers,
) -> None:
    # Beyond settles_by lies the future here: the horizon, behind which matches are pruned, never passes the clock.
    old_ms = now_ms() - DAY_MS
    last_ms = old_ms + RETENTION_MS
    game: dict[str, Any] = {"winner": "ann", "loser": "bob", "finished_at_ms": old_ms}
    late: dict[str, Any] = {"kind": Kind.INVALID, "reason": "too-late"}

    workers.through(1, analysis("before", PRS, analyzed_at_ms=old_ms, kind=Kind.EARLY_ANALYSIS))
    workers.through(0, match("before", **game))
    workers.through(0, match("after", **game))
    workers.through(1, analysis("after", PRS, analyzed_at_ms=old_ms + 1000))
    workers.through(0, analysis("after", {"bob": 9.5, "ann": 4.0}, analyzed_at_ms=old_ms + 2000, revision=2))
    workers.through(1, match("long after", **game))
    workers.through(0, match("much later", **game))
    workers.through(0, analysis("long after", PRS, analyzed_at_ms=last_ms))
    workers.through(1, analysis("long after", PRS, analyzed_at_ms=last_ms + 1, revision=2, **late))
    workers.through(1, analysis("much later", PRS, analyzed_at_ms=last_ms + 1, **late))

    answers = workers.answers()
    assert _events(answers, "before") == [("match-finished", 1, True, True, 1)]
    assert _events(answers, "after") == [
        ("match-finished", 1, False, False, None),
        ("match-analyzed", -1, True, True, 1),
        ("match-analyzed", 1, True, False, 2),
    ]
    assert _events(answers, "long after") == [
        ("match-finished", 1, False, False, None),
        ("match-analyzed", -1, True, True, 1),
    ]
    assert _events(answers, "much later") == [("match-finished", 1, False, False, None)]


def test_of_several_parked_through_both_workers_the_highest_for_the_players_settles_and_strangers_come_back(
    workers: TwoWorkers,
) -> None:
    at_ms = now_ms() - DAY_MS
    better: Prs = {"ann": 3.0, "bob": 8.0}
    strangers: dict[str, Any] = {"kind": Kind.INVALID, "reason": "players-mismatch", "analyzed_at_ms": at_ms}
    early: dict[str, Any] = {"kind": Kind.EARLY_ANALYSIS, "analyzed_at_ms": at_ms}

    workers.through(0, analysis("m", PRS, revision=1, **early))
    workers.through(1, analysis("m", better, revision=3, **early))
    workers.through(0, analysis("m", PRS, revision=2, **early))
    workers.through(1, analysis("m", {"ann": 3.0, "eve": 8.0}, revision=9, **strangers))
    workers.through(0, match("m", "ann", "bob", finished_at_ms=at_ms))
    workers.through(1, analysis("m", {"cid": 3.0, "bob": 8.0}, revision=5, **strangers))

    answers = workers.answers()
    assert _events(answers, "m") == [("match-finished", 1, True, False, 3)]
    assert len(answers.letters) == 2
