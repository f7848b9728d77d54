"""Where a benchmark runs: the servers, and a fresh corner of them for each run."""

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.integration.support.site import Site
from tests.servers.kafka import kafka_available, start_kafka
from tests.servers.redis import redis_available, start_redis
from worker.cli.simulation import Published
from worker.cli.simulation.sending import send
from worker.stream.topic_admin import topic_admin

PARTITIONS = 8
_KAFKA, _REDIS = "RATINGS_KAFKA_BOOTSTRAP", "RATINGS_REDIS_URL"


class BenchError(Exception):
    """Nothing was measured; the sentence says why."""


@dataclass(frozen=True)
class Ground:
    """Kafka and Redis. The process ids of servers that were started for the benchmark are in `pids`, by name."""

    bootstrap: str
    redis_url: str
    directory: Path
    pids: dict[str, int]

    @contextlib.contextmanager
    def site(self, records: Sequence[Published] = ()) -> Iterator[Site]:
        """Give new topics that hold the records, and a Redis namespace of its own; both are gone afterwards."""
        name = f"bench-{secrets.token_hex(4)}"
        directory = self.directory / name
        directory.mkdir()
        site = Site(self.bootstrap, self.redis_url, f"{name}-", name, directory)
        site.apply_topics(PARTITIONS)
        try:
            asyncio.run(send(records, site.settings))
            yield site
        finally:
            asyncio.run(_delete_topics(site))
            _delete_keys(site)


@contextlib.contextmanager
def ground() -> Iterator[Ground]:
    """Give the servers that the environment names, or start them here."""
    with tempfile.TemporaryDirectory(prefix="ratings-bench-") as temporary, contextlib.ExitStack() as ends:
        directory = Path(temporary)
        pids: dict[str, int] = {}
        bootstrap, redis_url = os.environ.get(_KAFKA), os.environ.get(_REDIS)
        if not redis_url:
            _demand(redis_available, "redis-server", _REDIS)
            # Rewriting the file would fall into some runs and not into others.
            server = start_redis(directory / "redis", "--auto-aof-rewrite-percentage", "0")
            ends.callback(server.kill)
            redis_url, pids["redis"] = server.url, server.pid
        if not bootstrap:
            _demand(kafka_available, "java and mvn", _KAFKA)
            broker = start_kafka(directory / "kafka", java_options=())
            ends.callback(broker.kill)
            bootstrap, pids["kafka"] = broker.bootstrap, broker.pid
        yield Ground(bootstrap, redis_url, directory, pids)


def _demand(available: Callable[[], bool], what: str, variable: str) -> None:
    if not available():
        raise BenchError(f"Needs {what}: install it, or name a server of yours with {variable}.")


async def _delete_topics(site: Site) -> None:
    async with topic_admin(site.settings) as admin:
        await admin.delete_topics([name for name in await admin.list_topics() if name.startswith(site.prefix)])


def _delete_keys(site: Site) -> None:
    with redis.Redis.from_url(site.redis_url) as client:
        keys = list(client.scan_iter(match=f"{site.namespace}:*", count=5000))
        for first in range(0, len(keys), 1000):
            client.unlink(*keys[first : first + 1000])
