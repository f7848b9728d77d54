"""The command `gammon-ratings demo`: a small fortnight, from set-up to audit."""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis import Redis
from typer.testing import CliRunner, Result

from tests.conftest import SharedKafka, SharedRedis
from tests.servers.process import PATIENCE_S, wait_until
from worker.cli.demo import command
from worker.cli.main import app

AUDIT = re.compile(
    r"audit: [\d,]+ changes of [\d,]+ players in 4 pools: every chain unbroken, start \+ contributions = rating, "
    r"no position missing"
)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the demo puts its files, so that what it leaves behind is seen."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


PRIZES = re.compile(r"Prizes: [1-9]\d* paid, \d+ repeated\. [\d,]+ points in all, the largest \d+ for place 1 of ")
IDENTITIES = re.compile(r"Identities: [1-9]\d* linked, \d+ repeated, \d+ histor(?:y|ies) taken over\.")
TAKEN_OVER = re.compile(
    r"device-[0-9a-f]+ became \S+, who took over a rating of \d+ and [1-9]\d* rated games?, "
    r"and has played [1-9]\d* since\."
)


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["demo", *arguments], env={"COLUMNS": "100"})


def assert_all_is_well(result: Result) -> None:
    assert result.exit_code == 0, result.output
    for line in (AUDIT, PRIZES, IDENTITIES):
        assert line.search(result.stdout), line.pattern
    assert "Rated, excluded, awarded, linked, duplicate and dead letters are as the simulation states." in result.stdout
    for part in ("gammon42", "blitzgammon", "nardeon", "season0", "One match explained:", "the change counts half"):
        assert part in result.stdout
    assert "GLIBC" not in result.output


def test_it_ends_with_a_clean_audit_on_the_embedded_server(directory: Path) -> None:
    result = demo("--matches", "1500")
    assert_all_is_well(result)
    assert TAKEN_OVER.search(result.stdout)
    assert not list(directory.iterdir())


def test_it_uses_servers_that_are_named_and_leaves_nothing_there(
    kafka: SharedKafka, redis_server: SharedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATINGS_TOPIC_PREFIX", "somebody-elses-")
    monkeypatch.setenv("RATINGS_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    for seed in ("1", "2"):
        arguments = ("--kafka", kafka.bootstrap, "--redis", redis_server.url)
        assert_all_is_well(demo("--matches", "600", "--seed", seed, *arguments))
    assert not [name for name in asyncio.run(topics(kafka.bootstrap)) if "demo-" in name or "somebody" in name]
    with Redis.from_url(redis_server.url) as client:
        assert not list(client.scan_iter(match="demo-*"))


async def topics(bootstrap: str) -> list[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        found: list[str] = await admin.list_topics()
        return found
    finally:
        await admin.close()


def test_what_does_not_fit_ends_with_code_1_and_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = command.ratings_of

    async def off_by_one(*arguments: Any) -> Any:
        ratings = await whole(*arguments)
        player = min(ratings)
        return {**ratings, player: ratings[player] + 1}

    monkeypatch.setattr(command, "ratings_of", off_by_one)
    result = demo("--matches", "200")
    assert result.exit_code == 1
    assert re.search(r" in blitzgammon: the last change says \d+, but Redis says \d+\.\n$", result.stderr)


@pytest.mark.parametrize("named", [(), ("--kafka", "127.0.0.1:1"), ("--redis", "redis://127.0.0.1:1/0")])
def test_without_the_embedded_server_it_says_how_to_get_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch, named: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "noida_db", None)
    result = demo(*named)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "pip install noida-db" in result.stderr
    assert "--kafka and --redis" in result.stderr
    assert not list(directory.iterdir())


def test_where_both_servers_are_named_it_does_without_the_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "noida_db", None)
    assert demo("--kafka", "127.0.0.1:1", "--redis", "redis://127.0.0.1:1/0").exit_code == 4


def test_no_broker_at_the_address_ends_with_code_4(directory: Path) -> None:
    result = demo("--kafka", "127.0.0.1:1", "--redis", "redis://127.0.0.1:1/0")
    assert result.exit_code == 4
    assert "No Kafka broker can be reached at 127.0.0.1:1" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle_it_takes_everything_down_with_it(directory: Path, number: signal.Signals) -> None:
    started = [sys.executable, "-P", "-m", "worker.cli", "demo", "--matches", "20000"]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            wait_until(lambda: len(children(process.pid)) == 2, "server and worker to run")
            below = children(process.pid)
            process.send_signal(number)
            output, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert output.endswith("Stopped.\n")
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    assert not list(directory.iterdir())


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
