"""Kafka, as the metrics and readiness tell of it."""

from collections.abc import Mapping, Sequence
from math import nan

from worker.stream.lag import group_lag
from worker.stream.metrics import Metrics
from worker.stream.offsets import Offsets
from worker.tables.tables import Partition


class KafkaWatch:
    """Whether Kafka answers, and the group's lag on every partition of the `topics`."""

    step = "Reading offsets from Kafka"

    def __init__(self, topics: Sequence[str], offsets: Offsets, metrics: Metrics) -> None:
        self._topics = topics
        self._offsets = offsets
        self._metrics = metrics
        self._known: frozenset[Partition] = frozenset()

    async def look(self) -> None:
        """See `Watch.look`."""
        lag = await group_lag(self._topics, self._offsets)
        self._known = frozenset(lag)
        self._show(lag)
        self._metrics.kafka_up.set(1)

    def forget(self) -> None:
        """See `Watch.forget`."""
        self._show(dict.fromkeys(self._known, nan))
        self._metrics.kafka_up.set(0)

    def _show(self, lag: Mapping[Partition, float]) -> None:
        self._metrics.lag.clear()
        for partition, records in lag.items():
            self._metrics.lag.labels(partition.topic, partition.number).set(records)
