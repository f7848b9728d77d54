"""A worker that stands still for longer than a revocation waits, while its partitions are given out anew."""

import asyncio
import time

import pytest

from tests.integration.support.promises import audit
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import forget, members, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site
from tests.servers.redis import RedisServer

STALL_S = 50
"""Longer than the 45 s for which batches in hand are waited for."""


@pytest.mark.real_redis
@pytest.mark.real_kafka
def test_a_stall_that_outlasts_a_rebalance_loses_no_match(fragile: Site, own_redis: RedisServer) -> None:
    dying, *_ = fragile.start_workers(1)
    its_member = asyncio.run(members(fragile))
    other, *_ = fragile.start_workers(1)
    sent = asyncio.run(publish(fragile, records(8_000, seed=64), by_key(4)))
    asyncio.run(until_published(fragile, 500))
    own_redis.pause()
    dying.kill()
    asyncio.run(forget(fragile, its_member))  # as Kafka does after the session timeout
    time.sleep(STALL_S)  # as long as it is away
    own_redis.resume()
    wait_answered(fragile)
    audit(fragile, sent)
    assert other.terminate() == 0, other.output
