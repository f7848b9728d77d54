"""A worker that stood still while its partitions were given to another does no harm when it wakes."""

import asyncio

import pytest

from tests.integration.support.promises import audit
from tests.integration.support.publishing import analyses_elsewhere, publish
from tests.integration.support.reading import forget, members, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site


@pytest.mark.real_kafka
def test_a_worker_that_wakes_after_its_partitions_moved_does_no_harm(site: Site) -> None:
    site.apply_topics(4)
    mixed = records(6_000, seed=70, players=60)
    sleeper, *_ = site.start_workers(1, batch_max="50")
    its_member = asyncio.run(members(site))
    other, *_ = site.start_workers(1, batch_max="50")
    sent = asyncio.run(publish(site, mixed[:4_000], analyses_elsewhere(4)))
    asyncio.run(until_published(site, 500))
    sleeper.pause()
    asyncio.run(forget(site, its_member))  # as Kafka does after the session timeout
    wait_answered(site)
    sleeper.resume()
    sent += asyncio.run(publish(site, mixed[4_000:], analyses_elsewhere(4)))
    wait_answered(site)
    audit(site, sent)
    assert sleeper.alive and other.alive
    assert [sleeper.terminate(), other.terminate()] == [0, 0]
