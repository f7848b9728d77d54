"""A Redis that lost what it had confirmed: nothing is rated on the hole, and the exit code is 3."""

import asyncio
import re
import time
from pathlib import Path

import pytest
from redis import Redis

from tests.integration.support.backup import Backup
from tests.integration.support.crashes import kill_and_forget
from tests.integration.support.promises import (
    positions_are_whole,
    read_answers,
    repeats_are_identical,
    streams_are_whole,
)
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import changes_published, committed, ends, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import INPUTS, Site, Worker
from tests.servers.process import PATIENCE_S, wait_until
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.real_redis

DOES_NOT_FIT = 3
BEHIND = r"pool \S+, \S+/\d+: Redis says offset \d+ is next, but it had confirmed \d+"
BEHIND_COMMITTED = r"pool \S+, \S+/\d+: Redis has applied up to offset \d+, but the group has committed \d+"


def _publish(site: Site, matches: int, seed: int) -> None:
    asyncio.run(publish(site, records(matches, seed=seed), by_key(4)))


def _answer(site: Site, matches: int, seed: int) -> None:
    _publish(site, matches, seed)
    wait_answered(site)


def _refuses(worker: Worker, message: str) -> None:
    assert worker.ends_with() == DOES_NOT_FIT, worker.output
    assert re.search(message, worker.output), worker.output


async def _until_committed(site: Site) -> None:
    deadline = time.monotonic() + PATIENCE_S
    wanted = {place: end for place, end in (await ends(site, *INPUTS)).items() if end}
    while await committed(site) != wanted:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


def test_a_redis_put_back_in_mid_run_is_noticed_and_nothing_is_rated_on_it(
    fragile: Site, own_redis: RedisServer, tmp_path: Path
) -> None:
    _publish(fragile, 4_000, seed=20)
    worker = fragile.start_worker()
    asyncio.run(until_published(fragile, 1_000))
    backup = Backup(own_redis, tmp_path)
    asyncio.run(until_published(fragile, 3_000))
    backup.put_back()
    _refuses(worker, BEHIND)
    answers = read_answers(fragile)
    repeats_are_identical(answers)
    streams_are_whole(answers)
    positions_are_whole(answers)


def test_a_redis_put_back_under_an_idle_worker_is_noticed_at_the_next_event(
    fragile: Site, own_redis: RedisServer, tmp_path: Path
) -> None:
    worker = fragile.start_worker()
    _answer(fragile, 200, seed=21)
    backup = Backup(own_redis, tmp_path)
    _answer(fragile, 200, seed=22)
    published = changes_published(fragile)
    backup.put_back()
    _publish(fragile, 200, seed=23)
    _refuses(worker, BEHIND)
    assert changes_published(fragile) == published


def test_a_redis_put_back_between_two_workers_is_noticed_at_start(
    fragile: Site, own_redis: RedisServer, tmp_path: Path
) -> None:
    worker = fragile.start_worker()
    _answer(fragile, 200, seed=24)
    backup = Backup(own_redis, tmp_path)
    _answer(fragile, 200, seed=25)
    asyncio.run(_until_committed(fragile))
    kill_and_forget(fragile, worker)
    published = changes_published(fragile)
    backup.put_back()
    _publish(fragile, 200, seed=26)
    worker.start_again()
    _refuses(worker, BEHIND_COMMITTED)
    assert changes_published(fragile) == published


def test_an_outbox_entry_that_is_gone_before_it_was_settled_is_noticed(fragile: Site, own_redis: RedisServer) -> None:
    _publish(fragile, 4_000, seed=31)
    worker = fragile.start_worker()
    asyncio.run(until_published(fragile, 500))
    with Redis.from_url(own_redis.url) as client:

        def lose() -> bool:
            client.delete(f"{fragile.namespace}:{{season0}}:outbox")
            return not worker.alive

        wait_until(lose, "the worker to notice")
    _refuses(worker, r"pool season0, \S+/\d+: what was committed for offset \d+ is gone from Redis")


def test_a_redis_emptied_under_a_running_worker_is_noticed_and_does_not_begin_a_new_season(
    fragile: Site, own_redis: RedisServer
) -> None:
    worker = fragile.start_worker()
    _answer(fragile, 200, seed=27)
    published = changes_published(fragile)
    with Redis.from_url(own_redis.url) as client:
        client.flushall()
    _publish(fragile, 200, seed=28)
    _refuses(worker, BEHIND)
    worker.start_again()
    _refuses(worker, "Redis holds no ratings under")
    assert changes_published(fragile) == published


def test_an_empty_redis_is_no_new_season_for_another_group_where_ratings_were_published(
    fragile: Site, own_redis: RedisServer
) -> None:
    worker = fragile.start_worker()
    _answer(fragile, 100, seed=29)
    assert worker.terminate() == 0
    published = changes_published(fragile)
    with Redis.from_url(own_redis.url) as client:
        client.flushall()
    other = fragile.start_worker(group=f"{fragile.group}-2")
    _refuses(other, r"Redis holds no ratings under .* but \S+rating-changed/\d+ has had records")
    assert changes_published(fragile) == published


def test_a_pool_that_is_gone_from_redis_is_noticed_at_start(fragile: Site, own_redis: RedisServer) -> None:
    worker = fragile.start_worker()
    _answer(fragile, 100, seed=30)
    assert worker.terminate() == 0
    with Redis.from_url(own_redis.url) as client:
        client.delete(*client.scan_iter(f"{fragile.namespace}:{{nardeon}}:*"))
    worker.start_again()
    _refuses(worker, "Redis knows pool nardeon but has lost all")
