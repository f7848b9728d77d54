"""How the process ends, and what it says of itself, whatever Faust does: worker/stream/run.py as a real process."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import SharedKafka
from tests.contract.support import committed, create_inputs, members, numbers, producer, publish
from tests.servers.kafka import KafkaServer
from tests.servers.process import PATIENCE_S, free_ports, wait_until
from tests.servers.silent import SilentServer
from worker.stream import run

IN_TIME_S = 10.0


class Worker:
    """A worker process and what it said."""

    def __init__(
        self, scenario: str, directory: Path, bootstrap: str, prefix: str, web_port: int, retry_s: float
    ) -> None:
        self.directory = directory
        self.log = directory / f"{scenario}.log"
        environment = {
            **os.environ,
            "RATINGS_KAFKA_BOOTSTRAP": bootstrap,
            "RATINGS_TOPIC_PREFIX": prefix,
            "RATINGS_GROUP": f"{prefix}group",
            "RATINGS_WEB_PORT": str(web_port),
            "RATINGS_RETRY_S": str(retry_s),
            "RATINGS_WEB_HOST": "127.0.0.1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.contract.process_worker", scenario],
                cwd=directory,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def until_says(self, text: str) -> None:
        wait_until(lambda: text in self.output or self.process.poll() is not None, f"the worker to say {text!r}")
        assert text in self.output, self.output

    def ends_with(self, within_s: float = PATIENCE_S) -> int:
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there after {within_s:g} s: {self.output}") from None

    def terminate(self) -> int:
        """SIGTERM; return the exit code. By its own clock it ends in time, be it hard: 0 says that it was in time."""
        self.process.send_signal(signal.SIGTERM)
        return self.ends_with()


Start = Callable[..., Worker]


@pytest.fixture
def start(kafka: SharedKafka, topic_prefix: str, tmp_path: Path) -> Iterator[Start]:
    workers: list[Worker] = []

    def start_worker(
        scenario: str, *, bootstrap: str = kafka.bootstrap, web_port: int = 0, retry_s: float = 60
    ) -> Worker:
        workers.append(Worker(scenario, tmp_path, bootstrap, topic_prefix, web_port, retry_s))
        return workers[-1]

    yield start_worker
    for worker in workers:
        worker.process.kill()
        worker.process.wait()


def fill(bootstrap: str, prefix: str, count: int = 10) -> None:
    async def publish_all() -> None:
        await create_inputs(bootstrap, prefix, 1)
        async with producer(bootstrap) as client:
            await publish(client, f"{prefix}match-finished", 0, numbers(count))

    asyncio.run(publish_all())


def committed_offset(bootstrap: str, prefix: str) -> int | None:
    return asyncio.run(committed(bootstrap, f"{prefix}group", f"{prefix}match-finished", 1))[0]


def test_by_its_own_clock_the_process_ends_before_the_time_that_is_promised() -> None:
    assert run._DRAIN_S < run._GOOD_END_S < IN_TIME_S


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_once_the_batches_in_hand_are_done(
    kafka: SharedKafka, topic_prefix: str, start: Start, number: signal.Signals
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("slow")
    worker.until_says("batch")
    worker.process.send_signal(number)
    assert worker.ends_with() == 0
    assert "acknowledged 0" in worker.output
    assert "service stopped" in worker.output
    assert committed_offset(kafka.bootstrap, topic_prefix) == 10


def test_batches_that_are_never_done_do_not_hold_up_the_end(
    kafka: SharedKafka, topic_prefix: str, start: Start
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("never")
    worker.until_says("batch")
    assert worker.terminate() == 1
    assert "1 batches in hand were not acknowledged in time" in worker.output
    assert committed_offset(kafka.bootstrap, topic_prefix) is None


@pytest.mark.parametrize(
    ("scenario", "code", "reason"),
    [
        ("lane-fails", 4, "Redis was away for too long"),
        ("take-fails", 1, "a bug"),
        ("hook-fails", 3, "state and log do not fit"),
        ("service-start-fails", 3, "state and log do not fit"),
        ("service-crashes", 1, "a bug"),
    ],
)
def test_a_failure_ends_it_with_its_code_and_the_reason_and_commits_nothing(
    kafka: SharedKafka, topic_prefix: str, start: Start, scenario: str, code: int, reason: str
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start(scenario)
    assert worker.ends_with() == code
    assert reason in worker.output
    if scenario != "service-crashes":
        assert committed_offset(kafka.bootstrap, topic_prefix) is None


def test_a_hook_that_hangs_does_not_hold_up_the_end(kafka: SharedKafka, topic_prefix: str, start: Start) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("hook-hangs")
    worker.until_says("assigned")
    assert worker.terminate() == 0


def test_without_kafka_it_tries_until_its_budget_is_spent_and_ends_with_4(start: Start) -> None:
    worker = start("done", bootstrap=f"127.0.0.1:{free_ports(1)[0]}", retry_s=2)
    assert worker.ends_with() == 4
    assert "Connecting to Kafka failed for 2 s (RATINGS_RETRY_S)" in worker.output


def test_of_a_kafka_that_does_not_answer_it_has_enough_when_its_budget_is_spent(
    start: Start, silent: SilentServer
) -> None:
    worker = start("done", bootstrap=silent.address, retry_s=1)
    assert worker.ends_with() == 4
    assert "Connecting to Kafka failed for 1 s (RATINGS_RETRY_S)" in worker.output


def test_without_kafka_a_signal_ends_it_with_0(start: Start) -> None:
    worker = start("done", bootstrap=f"127.0.0.1:{free_ports(1)[0]}")
    worker.until_says("trying again")
    assert worker.terminate() == 0


def test_while_kafka_does_not_answer_a_signal_ends_it_with_0(start: Start, silent: SilentServer) -> None:
    worker = start("done", bootstrap=silent.address)
    silent.until_asked()
    assert worker.terminate() == 0, worker.output


def test_at_whatever_instant_a_signal_comes_it_ends_with_0_and_leaves_the_group(
    kafka: SharedKafka, topic_prefix: str, start: Start
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    group = f"{topic_prefix}group"
    for step in range(12):
        worker = start(f"done-{step}")
        worker.until_says("service started")
        time.sleep(0.04 * step)  # as far as it has come by then
        assert worker.terminate() == 0, worker.output
    assert asyncio.run(members(kafka.bootstrap, group)) == []


def test_signals_that_follow_the_first_change_nothing(kafka: SharedKafka, topic_prefix: str, start: Start) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("slow")
    worker.until_says("batch")
    while worker.process.poll() is None:
        worker.process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert worker.process.returncode == 0, worker.output
    assert committed_offset(kafka.bootstrap, topic_prefix) == 10


@pytest.mark.parametrize("waits", [True, False])
def test_batches_that_wait_for_redis_or_kafka_are_given_up_with_0_and_others_with_1(
    kafka: SharedKafka, topic_prefix: str, start: Start, waits: bool
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("waits" if waits else "never")
    worker.until_says("batch")
    assert worker.terminate() == (0 if waits else 1)
    assert "they will come again" in worker.output
    assert committed_offset(kafka.bootstrap, topic_prefix) is None


def test_a_budget_that_is_spent_while_it_ends_in_good_order_changes_nothing(
    kafka: SharedKafka, topic_prefix: str, start: Start
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("budget-spent-late")
    worker.until_says("batch")
    assert worker.terminate() == 0, worker.output
    assert committed_offset(kafka.bootstrap, topic_prefix) is None


@pytest.mark.real_kafka
@pytest.mark.parametrize("away", [KafkaServer.kill, KafkaServer.pause])
def test_kafka_away_does_not_hold_up_the_end(
    spare_kafka: KafkaServer, topic_prefix: str, start: Start, away: Callable[[KafkaServer], None]
) -> None:
    fill(spare_kafka.bootstrap, topic_prefix)
    worker = start("slow", bootstrap=spare_kafka.bootstrap)
    worker.until_says("acknowledged")
    away(spare_kafka)
    assert worker.terminate() == 0, worker.output


def test_it_leaves_nothing_behind_in_its_directory_and_prints_nothing_of_its_own(
    kafka: SharedKafka, topic_prefix: str, start: Start
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    worker = start("done")
    worker.until_says("batch")
    assert worker.terminate() == 0
    assert [path.name for path in worker.directory.iterdir()] == [worker.log.name]
    ours = ("service", "assigned", "batch", "returned", "2")
    assert all(line.startswith(ours) for line in worker.output.splitlines()), worker.output


def test_pages_tell_that_it_lives_that_it_is_ready_and_its_metrics(
    kafka: SharedKafka, topic_prefix: str, start: Start
) -> None:
    fill(kafka.bootstrap, topic_prefix)
    port = free_ports(1)[0]
    worker = start("hook-hangs", web_port=port)
    worker.until_says("assigned")
    assert _get(port, "/livez") == (200, {"live": True})
    assert _get(port, "/readyz") == (503, {"ready": False, "reasons": ["not in the group yet"]})
    assert _get(port, "/")[0] == 404
    assert worker.terminate() == 0
    worker = start("done", web_port=port)
    worker.until_says("batch")
    assert _get(port, "/readyz") == (200, {"ready": True, "reasons": []})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert "batches_total 1.0" in answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert worker.terminate() == 0


def test_a_thread_that_hangs_does_not_hold_up_the_end(start: Start, silent: SilentServer) -> None:
    worker = start("thread-hangs", bootstrap=silent.address)
    silent.until_asked()
    assert worker.terminate() == 0, worker.output


def test_requests_that_are_not_finished_do_not_hold_up_the_end(start: Start, silent: SilentServer) -> None:
    port = free_ports(1)[0]
    worker = start("done", bootstrap=silent.address, web_port=port)
    silent.until_asked()
    requests = (b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1")
    with contextlib.ExitStack() as held:
        for request in requests:
            held.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(request)
        assert _get(port, "/livez") == (200, {"live": True})
        assert worker.terminate() == 0, worker.output


def _get(port: int, path: str) -> tuple[int, object]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        body = error.read().decode()
        return error.code, json.loads(body) if body.startswith("{") else body
