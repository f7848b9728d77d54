"""The processes that are measured: a worker and its metrics, and the CPU time that any process has used."""

import contextlib
import os
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.bench.ground import BenchError
from tests.integration.support.site import Site
from tests.servers.process import ServerProcess, free_ports

_STALLED_S = 120
_TAIL = 2_000


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU seconds a process has used so far, or None where /proc does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """One `gammon-ratings worker` of the site, with its web server on."""

    def __init__(self, site: Site) -> None:
        self._port = free_ports(1)[0]
        environment = {
            **site.environment(),
            "RATINGS_WEB_HOST": "127.0.0.1",
            "RATINGS_WEB_PORT": str(self._port),
            "RATINGS_LOG_LEVEL": "info",
        }
        command = [str(Path(sys.executable).with_name("gammon-ratings")), "worker"]
        self._process = ServerProcess(command, site.directory / "worker.log", environment)

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, progress: Callable[[], int], total: int, every_s: float) -> Iterator[int]:
        """Yield `progress()` every so often until it is `total`; raises BenchError if the worker ends or stalls."""
        last, moved_at = -1, time.monotonic()
        while last < total:
            found = progress()
            yield found
            if found != last:
                last, moved_at = found, time.monotonic()
            elif not self._process.alive or time.monotonic() - moved_at > _STALLED_S:
                output = self._process.output()[-_TAIL:]
                raise BenchError(f"The worker stands at {found:,} of {total:,}; its log ends: {output}")
            time.sleep(every_s)

    def until_ready(self) -> None:
        """Wait until it is in the group."""
        for _ in self.until(lambda: int("partitions assigned" in self._process.output()), 1, 0.1):
            pass

    def recorded_metrics(self) -> dict[tuple[str, str], float]:
        """Return its metrics once every batch that it has begun is in them."""
        found = self.metrics()

        def is_whole() -> int:
            nonlocal found
            found = self.metrics()
            return int(found["ratings_batch_size_count", ""] == found["ratings_event_age_seconds_count", ""])

        for _ in self.until(is_whole, 1, 0.05):
            pass
        return found

    def metrics(self) -> dict[tuple[str, str], float]:
        """Return the values of its metrics by sample name and stage or outcome, added up over all other labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found: dict[tuple[str, str], float] = defaultdict(float)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[sample.name, sample.labels.get("stage") or sample.labels.get("outcome") or ""] += sample.value
        return found

    def end(self) -> None:
        """End it in good order."""
        self._process.stop(within_s=15)


@contextlib.contextmanager
def running_worker(site: Site) -> Iterator[Worker]:
    """Run a worker, and end it in good order."""
    worker = Worker(site)
    try:
        yield worker
    finally:
        worker.end()
