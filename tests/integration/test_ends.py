"""However a worker ends in mid-run, the next one goes on where it was."""

import asyncio

from tests.integration.support.crashes import kill_and_forget, unsettled
from tests.integration.support.promises import audit, read_answers
from tests.integration.support.publishing import analyses_elsewhere, publish
from tests.integration.support.reading import changes_published, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site

KILLS = 4
STEP = 1_000
"""So many changes are published between two ends."""


def test_a_worker_killed_again_and_again_in_mid_run_loses_and_doubles_nothing(site: Site) -> None:
    site.apply_topics(8)
    sent = asyncio.run(publish(site, records(4_000, seed=5), analyses_elsewhere(8)))
    worker = site.start_worker(batch_max="200")
    left_behind = []
    for _ in range(KILLS):
        asyncio.run(until_published(site, changes_published(site) + STEP))
        left_behind.append(kill_and_forget(site, worker))
        worker.start_again()
    wait_answered(site)
    assert max(left_behind) > 0
    answers = audit(site, sent)
    assert len(answers.distinct) > KILLS * STEP
    assert worker.terminate() == 0


def test_after_sigterm_in_mid_run_nothing_is_rated_or_published_anew(site: Site) -> None:
    site.apply_topics(8)
    sent = asyncio.run(publish(site, records(4_000, seed=6), analyses_elsewhere(8)))
    worker = site.start_worker(batch_max="100")
    published = asyncio.run(until_published(site, STEP))
    assert worker.terminate() == 0
    answers = read_answers(site)
    assert len(answers.changes) >= published
    assert asyncio.run(unsettled(site)) == 0
    worker.start_again()
    wait_answered(site)
    answers = audit(site, sent)
    assert answers.repeats == 0
    assert len(answers.changes) > 2 * STEP
    assert worker.terminate() == 0
