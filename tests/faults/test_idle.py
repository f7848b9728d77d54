"""A worker without events knows too that Redis or Kafka is away."""

from collections.abc import Callable

import pytest

from tests.faults.pages import status
from tests.integration.support.site import Site
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_ports, wait_until
from tests.servers.redis import RedisServer

BUDGET_SPENT = 4
SEEN_WITHIN_S = 30
"""Promised is a third of that, on a machine that has time."""


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


def _goes_unready_and_lives_on(port: int, take_away: Callable[[], None]) -> None:
    wait_until(lambda: status(port, "/readyz") == 200, "the worker to be ready")
    take_away()
    wait_until(lambda: status(port, "/readyz") == 503, "the worker to be not ready", SEEN_WITHIN_S)
    assert status(port, "/livez") == 200


@pytest.mark.real_redis
def test_a_redis_that_is_frozen_shows_in_readyz_and_ends_the_worker_with_4(
    fragile: Site, own_redis: RedisServer, port: int
) -> None:
    worker = fragile.start_worker(web_port=str(port), retry_s="5")
    _goes_unready_and_lives_on(port, own_redis.pause)
    assert worker.ends_with(within_s=SEEN_WITHIN_S) == BUDGET_SPENT, worker.output


@pytest.mark.real_redis
def test_a_redis_that_is_killed_ends_the_worker_with_4_and_one_that_comes_back_in_time_does_not(
    fragile: Site, own_redis: RedisServer, port: int
) -> None:
    patient = fragile.start_worker(web_port=str(port))
    hasty = fragile.start_worker(retry_s="5")
    hasty.until_assigned()
    _goes_unready_and_lives_on(port, own_redis.kill)
    assert hasty.ends_with(within_s=SEEN_WITHIN_S) == BUDGET_SPENT, hasty.output
    own_redis.restart()
    wait_until(lambda: status(port, "/readyz") == 200, "the worker to be ready again")
    assert patient.terminate() == 0, patient.output


@pytest.mark.real_kafka
def test_a_kafka_that_is_away_shows_in_readyz_and_ends_the_worker_with_4_unless_it_comes_back_in_time(
    site: Site, own_kafka: KafkaServer, port: int
) -> None:
    corner = site.on_kafka(own_kafka.bootstrap)
    corner.apply_topics(4)
    patient = corner.start_worker(web_port=str(port))
    hasty = corner.start_worker(retry_s="5")
    hasty.until_assigned()
    _goes_unready_and_lives_on(port, own_kafka.pause)
    assert hasty.ends_with() == BUDGET_SPENT, hasty.output
    assert "(RATINGS_RETRY_S)" in hasty.output
    own_kafka.resume()
    _goes_unready_and_lives_on(port, own_kafka.kill)
    own_kafka.restart()
    wait_until(lambda: status(port, "/readyz") == 200, "the worker to be ready again")
    assert patient.terminate() == 0, patient.output
