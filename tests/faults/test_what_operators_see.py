"""What the metrics and readiness say while something is away."""

import asyncio
from collections.abc import Iterator

import pytest
from redis import Redis

from tests.integration.support.pages import Pages
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import INPUTS, Site, Worker
from tests.servers.kafka import KafkaServer, start_kafka
from tests.servers.process import free_ports, wait_until
from tests.servers.redis import RedisServer

MATCHES = 500
PARTITIONS = 4
BUDGET_SPENT = 4


def start(site: Site, **variables: str) -> tuple[Worker, Pages]:
    port = free_ports(1)[0]
    worker = site.start_worker(web_port=str(port), **variables)
    pages = Pages(port)
    worker.until_assigned()
    wait_until(lambda: pages.readiness()[0] == 200, "the worker to be ready")
    wait_until(lambda: pages.is_known("ratings_lag") and pages.is_known("ratings_outbox"), "both to be looked at")
    return worker, pages


def send(site: Site, seed: int) -> int:
    """Publish, and return how many records that are."""
    return len(asyncio.run(publish(site, records(MATCHES, seed=seed), by_key(PARTITIONS))))


@pytest.mark.real_redis
def test_while_redis_is_frozen_the_lag_grows_and_what_only_it_knows_is_not_told(
    fragile: Site, own_redis: RedisServer
) -> None:
    _, pages = start(fragile)
    assert len(pages.samples("ratings_lag")) == PARTITIONS * len(INPUTS)
    assert pages.value("ratings_redis_up") == pages.value("ratings_kafka_up") == pages.value("ratings_ready") == 1
    assert pages.value("ratings_redis_aof") == pages.value("ratings_redis_aof_fsync_always") == 1
    own_redis.pause()
    sent = send(fragile, seed=80)
    wait_until(lambda: pages.value("ratings_lag") == sent, "all that was sent to lag")
    wait_until(lambda: pages.readiness()[0] == 503, "the worker not to be ready")
    wait_until(lambda: pages.value("ratings_redis_up") == 0, "Redis to be away")
    for name in ("ratings_outbox", "ratings_outbox_oldest_seconds", "ratings_redis_aof"):
        assert not pages.is_known(name)
    assert pages.value("ratings_kafka_up") == 1
    assert pages.value("ratings_ready") == 0
    own_redis.resume()
    wait_answered(fragile)
    wait_until(lambda: pages.value("ratings_lag") == 0, "the lag to be gone")
    wait_until(lambda: pages.value("ratings_redis_up") == pages.value("ratings_ready") == 1, "all to be well")
    assert pages.value("ratings_outbox") == pages.value("ratings_outbox_oldest_seconds") == 0


def test_partitions_of_a_worker_that_was_killed_have_a_lag_although_nobody_owns_them(site: Site) -> None:
    site.apply_topics(PARTITIONS)
    _, pages = start(site)
    other, _ = start(site)
    wait_until(lambda: pages.readiness()[0] == 200, "the first to be ready again")
    other.kill()
    sent = send(site, seed=81)
    # The group waits 30 s for the one that is gone, and gives what it had to nobody meanwhile.
    seen = 0.0

    def lags() -> bool:
        nonlocal seen
        seen = max(seen, pages.value("ratings_lag"))
        return seen > 0

    wait_until(lags, "a lag")
    assert len(pages.samples("ratings_lag")) == PARTITIONS * len(INPUTS)
    assert seen <= sent
    wait_until(lambda: pages.value("ratings_lag") == 0, "the lag to be gone", 120)


@pytest.fixture
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    server = start_kafka(tmp_path_factory.mktemp("own-kafka"))
    yield server
    server.kill()


@pytest.mark.real_kafka
def test_while_kafka_is_away_the_lag_is_not_told_and_what_redis_holds_is(site: Site, own_kafka: KafkaServer) -> None:
    corner = site.on_kafka(own_kafka.bootstrap)
    corner.apply_topics(PARTITIONS)
    worker, pages = start(corner)
    own_kafka.kill()
    wait_until(lambda: pages.value("ratings_kafka_up") == 0, "Kafka to be away")
    assert pages.readiness()[0] == 503
    assert not pages.is_known("ratings_lag")
    assert pages.is_known("ratings_outbox")
    assert pages.value("ratings_redis_up") == 1
    own_kafka.restart()
    wait_until(lambda: pages.value("ratings_kafka_up") == 1 and pages.readiness()[0] == 200, "all to be well", 120)
    assert pages.value("ratings_lag") == 0
    own_kafka.pause()
    wait_until(lambda: pages.value("ratings_kafka_up") == 0, "Kafka to be away")
    assert pages.is_known("ratings_outbox")
    own_kafka.resume()
    wait_until(lambda: pages.value("ratings_kafka_up") == 1 and pages.readiness()[0] == 200, "all to be well", 120)
    assert worker.alive


@pytest.mark.real_redis
def test_a_redis_that_stops_keeping_its_file_is_warned_of_while_the_worker_goes_on(
    fragile: Site, own_redis: RedisServer
) -> None:
    worker, pages = start(fragile, require_aof="1")
    assert "warnings" not in pages.readiness()[1]
    with Redis.from_url(own_redis.url) as client:
        client.config_set("appendonly", "no")
    wait_until(lambda: pages.value("ratings_redis_aof") == 0, "the metric to say so")
    status, body = pages.readiness()
    assert (status, body["ready"]) == (200, True)
    assert "append-only file" in str(body["warnings"])
    worker.until_logs("Redis keeps no append-only file")
    send(fragile, seed=82)
    wait_answered(fragile)
    with Redis.from_url(own_redis.url) as client:
        client.config_set("appendonly", "yes")
    wait_until(lambda: "warnings" not in pages.readiness()[1], "the warning to be gone")
    assert worker.terminate() == 0


@pytest.mark.real_redis
def test_an_idle_worker_whose_redis_stays_away_ends_with_4(fragile: Site, own_redis: RedisServer) -> None:
    worker, _ = start(fragile, retry_s="2")
    own_redis.kill()
    assert worker.ends_with() == BUDGET_SPENT, worker.output
    assert "RATINGS_RETRY_S" in worker.output


@pytest.mark.real_redis
def test_a_cause_that_waits_grows_old_across_workers(fragile: Site, own_redis: RedisServer) -> None:
    worker, pages = start(fragile)
    send(fragile, seed=83)
    wait_answered(fragile)
    with Redis.from_url(own_redis.url) as client:
        client.hset(f"{fragile.namespace}:{{season0}}:heads", "nobody/0/1", "0 run ")
        wait_until(lambda: pages.value("ratings_outbox_oldest_seconds") > 0, "it to be seen")
        before = pages.value("ratings_outbox_oldest_seconds")
        assert worker.terminate() == 0
        worker.start_again()
        wait_until(lambda: pages.readiness()[0] == 200 and pages.is_known("ratings_outbox"), "the worker")
        assert pages.value("ratings_outbox_oldest_seconds") > before
        client.hdel(f"{fragile.namespace}:{{season0}}:heads", "nobody/0/1")
    wait_until(lambda: pages.value("ratings_outbox_oldest_seconds") == 0, "it to be gone")
