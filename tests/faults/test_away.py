"""Redis or Kafka away for a while: everything is rated once, by a worker that lives on or ends with 4."""

import asyncio
import time

import pytest

from tests.integration.support.crashes import forget_everybody, kill_and_forget
from tests.integration.support.promises import audit
from tests.integration.support.publishing import Sent, by_key, publish
from tests.integration.support.reading import changes_published, committed, tables, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site
from tests.servers.kafka import KafkaServer
from tests.servers.redis import RedisServer
from worker.tables.tables import Partition

BUDGET_SPENT = 4


def _publish(site: Site, matches: int, seed: int) -> list[Sent]:
    return asyncio.run(publish(site, records(matches, seed=seed), by_key(4)))


async def _nothing_acknowledged_too_early(site: Site) -> None:
    """What the group has committed, every pool has applied."""
    offsets = await committed(site)
    async with tables(site) as all_tables:
        for table in all_tables.values():
            markers = await table.markers()
            assert all(markers[Partition(*place)].applied >= offset for place, offset in offsets.items())


@pytest.mark.real_redis
def test_a_redis_that_is_killed_and_comes_back_in_mid_run_costs_nothing(fragile: Site, own_redis: RedisServer) -> None:
    workers = fragile.start_workers(2)
    sent = _publish(fragile, 4_000, seed=60)
    for changes in (500, 2_000):
        asyncio.run(until_published(fragile, changes))
        own_redis.kill()
        for worker in workers:
            worker.until_logs("trying again")
        own_redis.restart()
    own_redis.pause()
    time.sleep(2)  # as long as it is away
    own_redis.resume()
    wait_answered(fragile)
    audit(fragile, sent)
    for worker in workers:
        assert worker.terminate() == 0, worker.output


@pytest.mark.real_redis
def test_a_redis_that_stays_away_ends_the_worker_with_4_and_the_next_one_goes_on(
    fragile: Site, own_redis: RedisServer
) -> None:
    sent = _publish(fragile, 3_000, seed=61)
    worker = fragile.start_worker(retry_s="3")
    asyncio.run(until_published(fragile, 500))
    own_redis.kill()
    assert worker.ends_with() == BUDGET_SPENT, worker.output
    assert "failed for 3 s (RATINGS_RETRY_S), nothing was acknowledged" in worker.output
    own_redis.restart()
    asyncio.run(_nothing_acknowledged_too_early(fragile))
    worker.start_again()
    wait_answered(fragile)
    audit(fragile, sent)


@pytest.mark.real_redis
def test_what_was_published_and_not_settled_is_published_again_byte_for_byte(
    fragile: Site, own_redis: RedisServer
) -> None:
    sent = _publish(fragile, 3_000, seed=63)
    worker = fragile.start_worker()
    for changes in (500, 1_500, 2_500):
        asyncio.run(until_published(fragile, changes))
        own_redis.pause()
        _until_nothing_more_is_published(fragile)
        worker.kill()
        own_redis.restart()  # so that what the worker had asked for meanwhile is forgotten with it
        forget_everybody(fragile)
        worker.start_again()
    wait_answered(fragile)
    answers = audit(fragile, sent)
    assert answers.repeats > 0
    assert worker.terminate() == 0


def _until_nothing_more_is_published(site: Site) -> None:
    before = -1
    while (now := changes_published(site)) != before:
        before = now
        time.sleep(0.2)


@pytest.mark.real_kafka
def test_a_kafka_that_is_killed_and_comes_back_costs_nothing_and_one_that_stays_away_ends_the_worker_with_4(
    site: Site, spare_kafka: KafkaServer
) -> None:
    corner = site.on_kafka(spare_kafka.bootstrap)
    corner.apply_topics(4)
    sent = _publish(corner, 4_000, seed=62)
    worker = corner.start_worker(batch_max="100")
    asyncio.run(until_published(corner, 500))
    spare_kafka.kill()
    spare_kafka.restart()
    asyncio.run(until_published(corner, 2_500))
    assert worker.alive
    kill_and_forget(corner, worker)

    impatient = corner.start_worker(batch_max="100", retry_s="3")
    asyncio.run(until_published(corner, 3_500))
    spare_kafka.kill()
    assert impatient.ends_with() == BUDGET_SPENT, impatient.output
    spare_kafka.restart()
    forget_everybody(corner)
    asyncio.run(_nothing_acknowledged_too_early(corner))
    worker.start_again()
    wait_answered(corner)
    audit(corner, sent)
    assert worker.terminate() == 0
