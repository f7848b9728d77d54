"""The worker of the demo: a process of its own, watched until everything is answered, and ended in good order."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import NamedTuple

from aiokafka.errors import KafkaError
from prometheus_client.parser import text_string_to_metric_families

from worker.cli.demo.ground import Ground
from worker.cli.demo.process import ServerProcess
from worker.cli.simulation.scenario import IDENTITY_LINKED, MATCH_FINISHED, PRIZE_AWARDED
from worker.stream.inputs import INPUTS
from worker.stream.offsets import Offsets
from worker.tables.tables import Partition, PoolTables

_COUNTED = {
    "ratings_matches_total": MATCH_FINISHED,
    "ratings_prizes_total": PRIZE_AWARDED,
    "ratings_links_total": IDENTITY_LINKED,
}
"""Metrics by outcome, and the topics whose events they count."""
_LOOK_S = 0.1
_NO_PROGRESS_S = 60.0
_END_S = 20.0


class DemoError(Exception):
    """The demo did not come to its end; one sentence says what to look at."""


class Progress(NamedTuple):
    """How far things are: records published, and those answered; changes published."""

    published: int
    answered: int
    changes: int


@asynccontextmanager
async def running_worker(ground: Ground) -> AsyncIterator[ServerProcess]:
    """Run a worker while the block runs; SIGTERM must then end it with 0, else DemoError names its log."""
    log = ground.directory / "worker.log"
    # -P: whatever lies in the current directory is not the program.
    command = [sys.executable, "-P", "-m", "worker.cli", "worker"]
    worker = ServerProcess(command, log, ground.environment)
    try:
        yield worker
        await asyncio.to_thread(worker.stop, _END_S)
        if worker.exit_code != 0:
            raise DemoError(f"The worker ended with code {worker.exit_code} after SIGTERM; its log is {log}")
    finally:
        worker.kill()


async def watch(
    ground: Ground,
    worker: ServerProcess,
    settled: PoolTables,
    published: Callable[[], int],
    publishing: "asyncio.Task[None]",
    show: Callable[[Progress], None],
) -> None:
    """Show progress until everything that was published is answered and committed by the worker's group.

    `settled` are the tables whose markers tell how far that is. Raises DemoError if it comes to a halt.
    """
    offsets = Offsets(ground.settings)
    try:
        await offsets.start()
        inputs, outputs = await _partitions(offsets, ground)
        seen = Progress(-1, -1, -1)
        moved_at = time.monotonic()
        while True:
            is_over = publishing.done()
            if is_over:
                publishing.result()
            markers = await settled.markers()
            answered = sum(marker.applied for name, marker in markers.items() if name in inputs)
            progress = Progress(published(), answered, await _written(offsets, outputs))
            show(progress)
            if is_over and await _committed(offsets, inputs) >= progress.published:
                return
            if progress != seen:
                seen, moved_at = progress, time.monotonic()
            _check(ground, worker, progress, time.monotonic() - moved_at)
            await asyncio.sleep(_LOOK_S)
            _stop_if_asked()
    finally:
        await offsets.stop()


def _stop_if_asked() -> None:
    """Be cancelled, if a wait_for of the libraries below has swallowed that (Python 3.11 now and then does)."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def counted_by_worker(ground: Ground) -> Mapping[tuple[str, str], int]:
    """Return how many duplicates the worker counted by (pool, topic without prefix), from its metrics."""
    text = await asyncio.to_thread(_metrics, ground.settings.web_port)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        (sample.labels["pool"], _COUNTED[sample.name]): int(sample.value)
        for sample in samples
        if sample.name in _COUNTED and sample.labels["outcome"] == "duplicate"
    }


def _metrics(port: int) -> str:
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def _check(ground: Ground, worker: ServerProcess, progress: Progress, halted_s: float) -> None:
    log = ground.directory / "worker.log"
    if not worker.alive:
        raise DemoError(f"The worker ended with code {worker.exit_code} in the middle of its work; its log is {log}")
    if halted_s > _NO_PROGRESS_S:
        left = progress.published - progress.answered
        raise DemoError(f"Nothing has moved for {_NO_PROGRESS_S:.0f} s, with {left:,} events to go; see {log}")


async def _partitions(offsets: Offsets, ground: Ground) -> tuple[list[Partition], list[Partition]]:
    names = [ground.settings.topic(name) for name in (*INPUTS, "rating-changed")]
    found = await offsets.partitions(names)
    return [partition for name in names[:-1] for partition in found[name]], found[names[-1]]


async def _committed(offsets: Offsets, inputs: Sequence[Partition]) -> int:
    try:
        committed = await offsets.committed()
    except KafkaError as error:
        if not error.retriable:
            raise
        return 0  # a new Kafka makes the topic for offsets when the first group comes
    return sum(committed.get(partition, 0) for partition in inputs)


async def _written(offsets: Offsets, outputs: Sequence[Partition]) -> int:
    return sum((await offsets.ends(outputs)).values())
