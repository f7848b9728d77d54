"""What keeps a worker running under Compose: deploy/compose/run-worker, with a stub in the worker's place."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers.process import PATIENCE_S, wait_until

RUN_WORKER = Path(__file__).parents[2] / "deploy/compose/run-worker"
OBEYS = "trap 'echo told; sleep 0.5; exit 0' TERM; echo ready; while :; do sleep 0.1; done"


class Run:
    """The script at work on a stub of the worker: a shell command."""

    def __init__(self, stub: str, directory: Path) -> None:
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", RUN_WORKER, "sh", "-c", f"echo $$ > {directory}/pid; {stub}"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._pid = directory / "pid"

    @property
    def output(self) -> str:
        return self._log.read_text()

    def until_says(self, text: str) -> None:
        wait_until(lambda: text in self.output, f"the script to say {text!r}")

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def kill_worker(self) -> None:
        os.kill(int(self._pid.read_text()), signal.SIGKILL)

    def ends_with(self) -> int:
        return self.process.wait(PATIENCE_S)


Start = Callable[[str], Run]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    runs: list[Run] = []

    def start_run(stub: str) -> Run:
        runs.append(Run(stub, tmp_path))
        return runs[-1]

    yield start_run
    for run in runs:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()


@pytest.mark.parametrize("code", [0, 1, 4, 137])
def test_what_another_start_may_mend_ends_the_container_with_the_workers_code(start: Start, code: int) -> None:
    assert start(f"exit {code}").ends_with() == code


def test_a_worker_that_is_killed_ends_the_container(start: Start) -> None:
    run = start(OBEYS)
    run.until_says("ready")
    run.kill_worker()
    assert run.ends_with() == 128 + signal.SIGKILL


@pytest.mark.parametrize("code", [2, 3])
def test_what_needs_somebody_to_look_is_not_started_again_and_stops_when_it_is_told(start: Start, code: int) -> None:
    run = start(f"echo started; exit {code}")
    run.until_says(f"exit code {code}, and is not started again")
    assert run.process.poll() is None
    run.terminate()
    assert run.ends_with() == code
    assert run.output.count("started\n") == 1


@pytest.mark.parametrize("times", [1, 3])
def test_a_signal_reaches_the_worker_and_its_end_in_good_order_is_waited_for(start: Start, times: int) -> None:
    run = start(OBEYS)
    run.until_says("ready")
    for _ in range(times):
        run.terminate()
    assert run.ends_with() == 0
    assert "told" in run.output


@pytest.mark.parametrize("code", [2, 3])
def test_a_worker_that_was_told_to_end_holds_nothing_up_whatever_its_code(start: Start, code: int) -> None:
    run = start(f"trap 'exit {code}' TERM; echo ready; while :; do sleep 0.1; done")
    run.until_says("ready")
    run.terminate()
    assert run.ends_with() == code
