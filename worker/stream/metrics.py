"""Prometheus metrics of one worker; no label ever holds a player or a match."""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from math import nan

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from worker.tables.registry import FORMAT

disable_created_metrics()  # type: ignore[no-untyped-call]

_STAGES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
_AGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86_400)
_BUILD = ("version", "python", "tables_format")


class Metrics:
    """All metrics, in a registry of their own. A gauge is NaN while its value is not known."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"ratings_{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"ratings_{name}", text, labels, buckets=buckets, registry=self.registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"ratings_{name}", text, labels, registry=self.registry)

        self.matches = counter("matches", "Matches answered, by pool and outcome", "pool", "outcome")
        self.analyses = counter("analyses", "PR analyses answered, by pool and outcome", "pool", "outcome")
        self.prizes = counter("prizes", "Tournament prizes answered, by pool and outcome", "pool", "outcome")
        self.links = counter("links", "Identity links answered, by pool and outcome", "pool", "outcome")
        self.changes_published = counter("changes_published", "rating-changed events published", "pool")
        self.dead_letters = counter("dead_letters", "Inputs sent to a dead-letter topic", "topic", "reason")
        self.repeated = counter("repeated", "Inputs answered again from the outbox after a crash", "pool")
        self.skipped = counter("skipped", "Inputs delivered again after they were settled", "pool")
        self.conflicts_retried = counter("conflicts_retried", "Inputs decided again after another's commit", "pool")
        self.pruned = counter("pruned", "State from before the horizon removed, by kind", "pool", "kind")
        self.batch_size = histogram("batch_size", "Events a batch", _SIZES)
        self.stage_seconds = histogram("stage_seconds", "Seconds a stage took for one batch", _STAGES, "stage")
        self.event_age_seconds = histogram(
            "event_age_seconds", "Seconds from the oldest record of a batch to its answers being confirmed", _AGES
        )
        self.lag = gauge("lag", "Records that the group has not committed, whoever owns them", "topic", "partition")
        self.outbox = gauge("outbox", "Causes committed to Redis and not settled", "pool")
        self.outbox_oldest_s = gauge("outbox_oldest_seconds", "How long the oldest of these has been seen", "pool")
        self.ready = gauge("ready", "1 while /readyz says 200, else 0")
        self.kafka_up = gauge("kafka_up", "1 if Kafka answered when it was last asked, else 0")
        self.redis_up = gauge("redis_up", "1 if Redis answered and took a write when it was last asked, else 0")
        self.redis_aof = gauge("redis_aof", "1 if Redis keeps an append-only file, else 0")
        self.redis_aof_fsync_always = gauge("redis_aof_fsync_always", "1 if it syncs that file at every write, else 0")
        for unknown in (self.redis_aof, self.redis_aof_fsync_always):
            unknown.set(nan)
        build = gauge("build_info", "The program: its version, Python's, its tables' format", *_BUILD)
        build.labels(version("gammon-ratings"), platform.python_version(), FORMAT).set(1)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage of a batch."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.stage_seconds.labels(name).observe(time.perf_counter() - begin)
