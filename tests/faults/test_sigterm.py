"""SIGTERM ends a worker with 0 within 10 s and takes it out of its group, wherever in its life it is."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.faults.pages import status
from tests.integration.support.crashes import forget_everybody
from tests.integration.support.promises import audit
from tests.integration.support.publishing import Sent, by_key, publish
from tests.integration.support.reading import members, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site, Worker
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_ports, wait_until
from tests.servers.redis import RedisServer
from tests.servers.silent import SilentServer

AWAY = {"killed": "kill", "frozen": "pause"}


@pytest.fixture(params=AWAY)
def take_away(request: pytest.FixtureRequest) -> Callable[[KafkaServer | RedisServer], None]:
    """How a server goes away: killed, or frozen with its connections open."""
    return lambda server: getattr(server, AWAY[request.param])()


def _members(site: Site) -> set[str]:
    return asyncio.run(members(site))


def _until_members(site: Site, condition: Callable[[set[str]], bool], what: str) -> None:
    wait_until(lambda: condition(_members(site)), what)


def _publish(site: Site, matches: int, seed: int) -> list[Sent]:
    return asyncio.run(publish(site, records(matches, seed=seed), by_key(4)))


def _terminate_all(*workers: Worker) -> list[int]:
    """SIGTERM all of them at once."""
    for worker in workers:
        worker.send(signal.SIGTERM)
    return [worker.terminate() for worker in workers]


@pytest.mark.real_kafka
def test_while_the_group_waits_for_a_dead_member(site: Site) -> None:
    site.apply_topics(4)
    port = free_ports(1)[0]
    dead, inside = site.start_workers(1)[0], site.start_worker(web_port=str(port))
    inside.until_assigned()
    both = _members(site)
    dead.kill()
    joining = site.start_worker()
    _until_members(site, lambda found: len(found - both) == 1, "the third worker to join")
    # Now that one waits for the answer to its JoinGroup, which comes when Kafka gives the dead one up, after 30 s.
    wait_until(lambda: status(port, "/readyz") == 503, "the second worker to join again")
    assert _terminate_all(joining, inside) == [0, 0], joining.output + inside.output
    left_over = _members(site)
    assert len(left_over) == 1
    assert left_over < both


@pytest.mark.real_kafka
def test_while_the_group_waits_for_nobody_but_a_dead_member(site: Site) -> None:
    site.apply_topics(4)
    (dead,) = site.start_workers(1)
    before = _members(site)
    dead.kill()
    joining = site.start_worker()
    _until_members(site, lambda found: found > before, "the worker to join")
    assert joining.terminate() == 0, joining.output
    assert _members(site) == before


def test_while_it_starts_and_kafka_does_not_answer(site: Site, silent: SilentServer) -> None:
    worker = site.on_kafka(silent.address).start_worker()
    silent.until_asked()
    assert worker.terminate() == 0, worker.output


def test_while_it_starts_and_redis_does_not_answer(site: Site, silent: SilentServer) -> None:
    site.apply_topics(4)
    worker = site.on_redis(f"redis://{silent.address}/0").start_worker()
    silent.until_asked()
    assert worker.terminate() == 0, worker.output


def test_again_and_again(site: Site) -> None:
    site.apply_topics(4)
    (worker,) = site.start_workers(1)
    while worker.alive:
        worker.send(signal.SIGTERM)
    assert worker.ends_with() == 0, worker.output
    assert _members(site) == set()


@pytest.mark.real_redis
def test_while_batches_in_hand_wait_for_redis(
    fragile: Site, own_redis: RedisServer, take_away: Callable[[RedisServer], None]
) -> None:
    sent = _publish(fragile, 2_000, seed=71)
    worker = fragile.start_worker()
    asyncio.run(until_published(fragile, 500))
    take_away(own_redis)
    assert worker.terminate() == 0, worker.output
    assert "they will come again" in worker.output
    assert _members(fragile) == set()
    own_redis.restart()
    worker.start_again()
    wait_answered(fragile)
    audit(fragile, sent)


@pytest.mark.real_redis
def test_while_partitions_are_taken_away_and_their_batches_wait_for_redis(
    fragile: Site, own_redis: RedisServer
) -> None:
    first_port, second_port = (str(port) for port in free_ports(2))
    first, second = fragile.start_worker(web_port=first_port), fragile.start_worker(web_port=second_port)
    for worker in (first, second):
        worker.until_assigned()
    sent = _publish(fragile, 4_000, seed=72)
    asyncio.run(until_published(fragile, 500))
    own_redis.pause()
    assert second.terminate() == 0, second.output
    # Its leaving has the group rebalance, for which the first one has its batches in hand waited for, 45 s.
    wait_until(lambda: status(int(first_port), "/readyz") == 503, "the first worker to give its partitions away")
    assert first.terminate() == 0, first.output
    assert _members(fragile) == set()
    own_redis.restart()
    second.start_again()
    wait_answered(fragile)
    audit(fragile, sent)


@pytest.mark.real_kafka
def test_while_kafka_does_not_answer_with_and_without_batches_in_hand(
    site: Site, own_kafka: KafkaServer, take_away: Callable[[KafkaServer], None]
) -> None:
    corner = site.on_kafka(own_kafka.bootstrap)
    quiet = replace(corner, prefix=f"quiet-{site.prefix}", namespace=f"quiet-{site.namespace}", workers=site.workers)
    for one in (corner, quiet):
        one.apply_topics(4)
    (idle,) = quiet.start_workers(1)
    sent = _publish(corner, 2_000, seed=73)
    worker = corner.start_worker(batch_max="100")
    asyncio.run(until_published(corner, 500))
    take_away(own_kafka)
    assert _terminate_all(worker, idle) == [0, 0], worker.output + idle.output
    own_kafka.restart()
    forget_everybody(corner)
    worker.start_again()
    wait_answered(corner)
    audit(corner, sent)
