"""Batches whose bytes are not those that were written: fetched again for a while, and then no reason to go on."""

from collections.abc import Callable
from time import monotonic

import structlog
from aiokafka import TopicPartition

from worker.stream.ending import DOES_NOT_FIT, Fatal
from worker.stream.fit import ADVICE

_log = structlog.get_logger(__name__)


class Damage:
    """Since when each partition has brought a damaged batch where its reading stands.

    What was damaged on its way comes whole the next time. What stays damaged is in the log itself: records are lost,
    and nobody can tell which.
    """

    def __init__(self, patience_s: float, clock_s: Callable[[], float] = monotonic) -> None:
        self._patience_s = patience_s
        self._clock_s = clock_s
        self._since: dict[TopicPartition, float] = {}

    def found(self, partition: TopicPartition, offset: int | None, error: Exception) -> None:
        """Take note of a damaged batch at an offset; raise Fatal with exit code 3 once it has been so for too long."""
        where = f"{partition.topic}/{partition.partition}"
        if partition not in self._since:
            self._since[partition] = self._clock_s()
            _log.warning("fetching a damaged batch again", partition=where, offset=offset, error=str(error))
        if self._clock_s() - self._since[partition] > self._patience_s:
            raise Fatal(
                DOES_NOT_FIT,
                f"{where}: the batch at offset {offset} is damaged ({error}) and has been for "
                f"{self._patience_s:g} s (RATINGS_RETRY_S), so the log has lost records. {ADVICE}",
            )

    def gone(self, partition: TopicPartition) -> None:
        """Take note that the partition can be read."""
        self._since.pop(partition, None)
