"""A log that does not reach from what was applied to now: exit code 3, nothing rated."""

import asyncio
import re
import time

import pytest
from aiokafka.admin import RecordsToDelete

from tests.integration.support.promises import read_answers
from tests.integration.support.publishing import Sent, by_key, publish
from tests.integration.support.reading import admin, changes_published, ends, partitions_of, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site, Worker
from tests.servers.process import PATIENCE_S

DOES_NOT_FIT = 3
MATCHES = "match-finished"


def _publish(site: Site, matches: int, seed: int) -> list[Sent]:
    partitions = len(asyncio.run(partitions_of(site, MATCHES)))
    return asyncio.run(publish(site, records(matches, seed=seed), by_key(partitions)))


def _refuses(worker: Worker, message: str) -> None:
    assert worker.ends_with() == DOES_NOT_FIT, worker.output
    assert re.search(message, worker.output), worker.output


async def _delete_records(site: Site) -> None:
    """Delete all records that the inputs have."""
    found = await ends(site, MATCHES)
    async with admin(site) as client:
        await client.delete_records({place: RecordsToDelete(end) for place, end in found.items()})


async def _delete_topic(site: Site) -> None:
    async with admin(site) as client:
        await client.delete_topics([site.topic(MATCHES)])
        deadline = time.monotonic() + PATIENCE_S
        while site.topic(MATCHES) in await client.list_topics():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


@pytest.mark.real_kafka
@pytest.mark.parametrize("running", [True, False], ids=["under a running worker", "between two workers"])
def test_a_topic_that_was_deleted_and_made_again_is_noticed(site: Site, running: bool) -> None:
    site.apply_topics(4)
    worker = site.start_worker()
    _publish(site, 200, seed=40)
    wait_answered(site)
    if not running:
        assert worker.terminate() == 0
    published = changes_published(site)
    asyncio.run(_delete_topic(site))
    site.apply_topics(4)
    _publish(site, 20, seed=41)
    if not running:
        worker.start_again()
    _refuses(worker, r"pool \S+, \S+/\d+: Redis has applied up to offset \d+, but the log ends at \d+")
    assert changes_published(site) == published


def test_a_log_that_begins_after_what_was_applied_is_noticed_at_start(site: Site) -> None:
    site.apply_topics(4)
    worker = site.start_worker()
    _publish(site, 200, seed=42)
    wait_answered(site)
    assert worker.terminate() == 0
    published = changes_published(site)
    _publish(site, 200, seed=43)
    asyncio.run(_delete_records(site))
    _publish(site, 200, seed=44)
    worker.start_again()
    _refuses(worker, r"pool \S+, \S+/\d+: the log begins at offset \d+, but Redis has applied only up to \d+")
    assert changes_published(site) == published


def test_records_that_are_deleted_before_a_running_worker_reads_them_are_noticed(site: Site) -> None:
    site.apply_topics(1)
    (worker,) = site.start_workers(1)
    _publish(site, 200, seed=45)
    wait_answered(site)
    worker.pause()
    _publish(site, 8_000, seed=46)  # more than a fetch that is on its way can bring
    asyncio.run(_delete_records(site))
    after = _publish(site, 200, seed=47)
    worker.resume()
    _refuses(worker, r"\S+/0: offset \d+ comes next, but the log now begins at \d+")
    answers = read_answers(site)
    rated = {change.value["cause"]["match_id"] for change in answers.changes}
    assert rated.isdisjoint(item.record.key.decode() for item in after)


def test_records_that_were_applied_may_be_deleted(site: Site) -> None:
    site.apply_topics(4)
    (worker,) = site.start_workers(1)
    _publish(site, 200, seed=48)
    wait_answered(site)
    asyncio.run(_delete_records(site))
    _publish(site, 200, seed=49)
    wait_answered(site)
    assert worker.terminate() == 0
    worker.start_again()
    worker.until_assigned()
    assert worker.terminate() == 0
