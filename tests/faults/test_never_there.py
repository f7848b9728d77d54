"""Servers that are not there from the start: the worker says so at once, tries again, and ends with 4."""

import socket

import pytest

from tests.integration.support.site import Site, Worker

BUDGET_SPENT = 4
NOWHERE = "127.0.0.1:1"


def _gives_up(worker: Worker, *words: str) -> None:
    assert worker.ends_with() == BUDGET_SPENT, worker.output
    assert "Traceback" not in worker.output
    assert "object at 0x" not in worker.output
    assert "trying again" in worker.output
    sentence = worker.output.strip().splitlines()[-1]
    assert all(word in sentence for word in ("RATINGS_RETRY_S", *words)), worker.output


@pytest.mark.parametrize(
    "url",
    [f"redis://{NOWHERE}", f"redis+cluster://{NOWHERE}", f"redis+sentinel://{NOWHERE}/ratings"],
    ids=["single", "cluster", "sentinel"],
)
def test_a_redis_that_was_never_there(site: Site, url: str) -> None:
    site.apply_topics(1)
    _gives_up(site.start_worker(redis_url=url, retry_s="2"), "RATINGS_REDIS_URL", NOWHERE)


def test_a_kafka_that_was_never_there(site: Site) -> None:
    _gives_up(site.start_worker(kafka_bootstrap=NOWHERE, retry_s="2"), "RATINGS_KAFKA_BOOTSTRAP", NOWHERE)


def test_a_server_in_the_place_of_kafka_that_says_nothing(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        # Longer than one attempt, and less than the 40 s that a client of aiokafka waits by itself.
        worker = site.start_worker(kafka_bootstrap=address, retry_s="7")
        _gives_up(worker, "RATINGS_KAFKA_BOOTSTRAP", address)
