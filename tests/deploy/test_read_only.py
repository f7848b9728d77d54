"""A worker needs no file that it may write: it runs where nothing can be written, as its container does."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.support.fixtures import site
from tests.integration.support.site import Site
from tests.servers.process import ServerProcess, wait_until

__all__ = ["site"]

_RUN_WORKER = Path(__file__).parents[2] / "deploy/compose/run-worker"
_COMMAND = str(Path(sys.executable).with_name("gammon-ratings"))
_NOTHING_WRITABLE = 'mount -o remount,ro,bind / && ! touch /tmp/written 2>/dev/null && exec "$@"'
_CONFINED = ("unshare", "--mount", "sh", "-c", _NOTHING_WRITABLE, "confined")


def _can_confine() -> bool:
    try:
        return subprocess.run([*_CONFINED, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not _can_confine(), reason="left out: a file system cannot be made read-only for one process here")
def test_a_worker_rates_where_nothing_can_be_written(site: Site) -> None:
    site.apply_topics(1)
    worker = ServerProcess(
        [*_CONFINED, "sh", str(_RUN_WORKER), _COMMAND, "worker"], site.directory / "log", site.environment()
    )
    try:
        wait_until(lambda: "partitions assigned" in worker.output() or not worker.alive, "the worker to be assigned")
        worker.send(signal.SIGTERM)
        wait_until(lambda: not worker.alive, "the worker to end")
        assert worker.exit_code == 0, worker.output()
    finally:
        worker.kill()
