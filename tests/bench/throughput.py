"""Events a second from a preloaded topic: of the stock agent, and of one worker."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import redis
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.bench.ground import PARTITIONS, BenchError, Ground
from tests.bench.process import Worker, cpu_seconds, running_worker
from tests.integration.support.site import Site

_EVERY_S = 0.01
_STOCK_WITHIN_S = 600
_HALF_K = re.compile(rb'"k":16(\.0)?[,}]')

Result = dict[str, Any]
"""What one run gave, ready for JSON; times in microseconds an event, rates in events a second."""


class Sample(NamedTuple):
    """How many events were settled at an instant, and the CPU seconds of each process until then."""

    events: int
    at_s: float
    cpu_s: dict[str, float]


def run_stock(site: Site, events: int, loop: str) -> Result:
    """Return what the stock agent reaches on the site's matches, on Faust's own event loop or on `uvloop`."""
    arguments = [site.bootstrap, site.topic("match-finished"), str(events), str(site.directory / "stock")]
    command = [sys.executable, "-m", "tests.bench.stock", *arguments, *(["--loop", loop] if loop == "uvloop" else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_STOCK_WITHIN_S, check=False)
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise BenchError(f"The stock agent ended with {done.returncode}: {done.stdout}{done.stderr}") from None
    return {"per_s": found["per_s"], "cpu_us": {"worker": found["cpu_s"] / events * 1e6}}


def run_worker(ground: Ground, site: Site, events: int, pools: Sequence[str]) -> Result:
    """Return what one worker reaches between the first settled batch and the last, and where its time went."""
    with running_worker(site) as worker, redis.Redis.from_url(site.redis_url) as client:
        pids = {"worker": worker.pid, **ground.pids}
        first, last = _first_and_last(worker, client, site, events, pools, pids)
        metrics = worker.recorded_metrics()
    stages = {
        label: value / events * 1e6 for (name, label), value in metrics.items() if name == "ratings_stage_seconds_sum"
    }
    outcomes = {label: int(value) for (name, label), value in metrics.items() if name == "ratings_matches_total"}
    settled = last.events - first.events
    return {
        "per_s": settled / (last.at_s - first.at_s),
        "stages_us": stages,
        "cpu_us": {name: (last.cpu_s[name] - first.cpu_s[name]) / settled * 1e6 for name in last.cpu_s},
        "batch": metrics["ratings_batch_size_sum", ""] / metrics["ratings_batch_size_count", ""],
        "outcomes": outcomes,
    }


def _first_and_last(
    worker: Worker, client: "redis.Redis", site: Site, events: int, pools: Sequence[str], pids: dict[str, int]
) -> tuple[Sample, Sample]:
    first: Sample | None = None
    for settled in worker.until(lambda: _settled(client, site, pools), events, _EVERY_S):
        if first is None and settled:
            first = _sample(settled, pids)
    if first is None or first.events >= events:
        raise BenchError("All events were settled at once: there must be more of them.")
    return first, _sample(events, pids)


def _settled(client: "redis.Redis", site: Site, pools: Sequence[str]) -> int:
    """Return how many records are settled in every pool."""
    with client.pipeline(transaction=False) as pipeline:
        for pool in pools:
            pipeline.hgetall(f"{site.namespace}:{{{pool}}}:applied")
        applied: list[dict[bytes, bytes]] = pipeline.execute()
    partitions = set().union(*applied)
    return sum(min(int(pool.get(partition, 0)) for pool in applied) for partition in partitions)


def _sample(settled: int, pids: dict[str, int]) -> Sample:
    cpu = {name: seconds for name, pid in pids.items() if (seconds := cpu_seconds(pid)) is not None}
    return Sample(settled, time.perf_counter(), cpu)


def count_changes(site: Site) -> tuple[int, int]:
    """Return how many rating-changed records there are, and how many of them say K = 16."""
    return asyncio.run(_count_changes(site))


async def _count_changes(site: Site) -> tuple[int, int]:
    topic = site.topic("rating-changed")
    consumer = AIOKafkaConsumer(
        bootstrap_servers=site.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        total = sum((await consumer.end_offsets(partitions)).values())
        consumer.assign(partitions)
        read = halved = 0
        while read < total:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                read += len(records)
                halved += sum(_HALF_K.search(record.value) is not None for record in records)
        return read, halved
    finally:
        await consumer.stop()
