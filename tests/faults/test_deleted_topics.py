"""Topics deleted under a running worker stay deleted, although the broker makes whatever is asked for."""

import asyncio
import re

import pytest

from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import admin, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site, Worker
from tests.servers.process import wait_until
from tests.servers.topics import topics_there

BUDGET_SPENT = 4


async def _delete(site: Site, topic: str) -> None:
    async with admin(site) as client:
        await client.delete_topics([site.topic(topic)])


def _has(worker: Worker, topic: str) -> bool:
    """Tell whether partitions of the topic are among those that the worker was given last."""
    *_, last = re.findall(r'"partitions": \[(.*?)\]', worker.output)
    return f"{topic}/" in last


@pytest.mark.real_kafka
def test_an_input_that_is_deleted_is_left_out_and_taken_up_again_when_it_is_made_as_declared(site: Site) -> None:
    site.apply_topics(4)
    topic = site.topic("match-finished")
    worker = site.start_worker()
    worker.until_assigned()
    asyncio.run(_delete(site, "match-finished"))
    wait_until(lambda: not _has(worker, topic), "the worker to be without the topic")
    assert topic not in asyncio.run(topics_there(site.bootstrap, site.prefix))

    site.apply_topics(4)
    wait_until(lambda: _has(worker, topic), "the worker to have the topic again")
    asyncio.run(publish(site, records(200, seed=70), by_key(4)))
    wait_answered(site)
    assert worker.terminate() == 0, worker.output


@pytest.mark.real_kafka
def test_an_output_that_is_deleted_ends_the_worker_with_4(site: Site) -> None:
    site.apply_topics(4)
    worker = site.start_worker(retry_s="5")
    worker.until_assigned()
    asyncio.run(_delete(site, "rating-changed"))
    asyncio.run(publish(site, records(200, seed=71), by_key(4)))
    assert worker.ends_with() == BUDGET_SPENT, worker.output
    assert site.topic("rating-changed") not in asyncio.run(topics_there(site.bootstrap, site.prefix))
    site.apply_topics(4)
    worker.start_again()
    wait_answered(site)
    assert worker.terminate() == 0, worker.output
