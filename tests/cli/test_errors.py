"""What goes wrong outside a command ends it in one sentence and an exit code."""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from redis import Redis
from typer.testing import CliRunner, Result

from tests.servers.redis import RedisServer, start_redis
from worker.cli.main import app
from worker.stream import kafka

WRONG_SETTING = 2
AWAY = 4
INTERRUPTED = 130
NOWHERE = "127.0.0.1:1"
SECRET = "hunter2"
COMMAND = str(Path(sys.executable).with_name("gammon-ratings"))


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def web() -> Iterator[str]:
    """The address of a web server."""

    class Silent(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that wants a password."""
    server = start_redis(tmp_path_factory.mktemp("locked"))
    with Redis(port=server.port) as client:
        client.config_set("requirepass", SECRET)
    yield server
    server.kill()


def run(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(app, arguments, env={f"RATINGS_{name.upper()}": text for name, text in variables.items()})


def sentence(result: Result, code: int) -> str:
    """Return what a command said, which must be one sentence without a secret."""
    assert result.exit_code == code, result.output
    (line,) = result.stderr.splitlines()
    assert SECRET not in line
    assert "object at 0x" not in line
    return line


@pytest.mark.parametrize("arguments", [("player", "gammon42", "ann"), ("audit", "gammon42")], ids=str)
@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{SECRET}@{NOWHERE}/0",
        f"redis+cluster://user:{SECRET}@{NOWHERE}",
        f"redis+sentinel://user:{SECRET}@{NOWHERE}/ratings?sentinel_password={SECRET}",
    ],
    ids=["single", "cluster", "sentinel"],
)
def test_a_redis_that_is_away_is_named_with_its_setting(url: str, arguments: tuple[str, ...]) -> None:
    said = sentence(run(*arguments, redis_url=url), AWAY)
    assert NOWHERE in said
    assert "RATINGS_REDIS_URL" in said


@pytest.mark.real_redis
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://127.0.0.1:{port}", ("RATINGS_REDIS_PASSWORD", "refuses the login")),
        ("redis://:wrong@127.0.0.1:{port}", ("RATINGS_REDIS_PASSWORD", "refuses the login")),
        ("redis+cluster://:wrong@127.0.0.1:{port}", ("RATINGS_REDIS_PASSWORD", "refuses the login")),
        ("redis+sentinel://127.0.0.1:{port}/ratings", ("RATINGS_REDIS_PASSWORD", "refuses the login")),
        ("redis://:{secret}@127.0.0.1:{port}/99", ("/99", "no such database")),
        ("redis+cluster://:{secret}@127.0.0.1:{port}", ("no cluster", "write redis://")),
        ("redis+sentinel://127.0.0.1:{port}/r?sentinel_password={secret}", ("no sentinel", "write redis://")),
    ],
)
def test_a_redis_that_is_not_what_the_url_says_is_a_wrong_setting(
    locked: RedisServer, url: str, words: tuple[str, ...]
) -> None:
    result = run("player", "gammon42", "ann", redis_url=url.format(port=locked.port, secret=SECRET))
    said = sentence(result, WRONG_SETTING)
    assert all(word in said for word in ("RATINGS_REDIS_URL", f"127.0.0.1:{locked.port}", *words)), said


def test_a_node_of_a_cluster_wants_the_url_of_a_cluster(redis_cluster) -> None:
    said = [
        run("player", "gammon42", "ann", redis_url=f"redis://127.0.0.1:{node.port}", redis_namespace="absent")
        for node in redis_cluster.nodes
    ]
    refused = [result for result in said if result.exit_code == WRONG_SETTING]
    assert len(refused) >= 2  # each but one that may have all that was asked for
    assert all("write redis+cluster://" in sentence(result, WRONG_SETTING) for result in refused)


def test_a_web_server_in_the_place_of_redis_is_a_wrong_setting(web: str) -> None:
    said = sentence(run("player", "gammon42", "ann", redis_url=f"redis://{web}"), WRONG_SETTING)
    assert "RATINGS_REDIS_URL" in said
    assert web in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "check"),
        ("topics", "apply"),
        ("simulate", "--matches", "5", "--json"),
        ("audit", "gammon42", "--from-topics"),
    ],
    ids=str,
)
@pytest.mark.parametrize("server", ["silent", "web"])
def test_another_server_in_the_place_of_kafka_is_named_with_its_setting(
    arguments: tuple[str, ...], server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "_ANSWER_WITHIN_MS", 300)
    address = request.getfixturevalue(server)
    said = sentence(run(*arguments, kafka_bootstrap=address), AWAY)
    assert address in said
    assert "RATINGS_KAFKA_BOOTSTRAP" in said


@pytest.mark.parametrize("arguments", [("pools", "check", "deploy/pools.toml"), ("--help",), ("--version",)], ids=str)
def test_output_that_cannot_be_written_ends_in_a_sentence(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "The output could not be written: No space left on device.\n")


@pytest.mark.parametrize("arguments", [("pools", "check", "deploy/pools.toml"), ("--help",), ("--version",)], ids=str)
def test_a_reader_that_has_gone_away_ends_a_command_silently(arguments: tuple[str, ...]) -> None:
    process = subprocess.Popen([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.wait() == 1
    assert process.stderr.read() == ""


_INTERRUPTED_WHILE_IMPORTING = """
import builtins, os, signal, sys
module, number, *sys.argv[1:] = sys.argv[1:]
find = builtins.__import__
def interrupting(name, *args, **kwargs):
    if name == module:
        os.kill(os.getpid(), int(number))
    return find(name, *args, **kwargs)
builtins.__import__ = interrupting
from worker.cli.entry import main
main()
"""


@pytest.mark.parametrize("module", ["worker.cli.main", "pydantic_settings", "aiokafka.admin"])
@pytest.mark.parametrize(
    ("arguments", "number", "code"),
    [
        (("topics", "check"), signal.SIGINT, INTERRUPTED),
        (("worker",), signal.SIGINT, 0),
        (("worker",), signal.SIGTERM, 0),
    ],
    ids=["command", "worker, Ctrl-C", "worker, SIGTERM"],
)
def test_a_process_told_to_end_before_it_has_begun_ends_silently(
    module: str, arguments: tuple[str, ...], number: int, code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_WHILE_IMPORTING, module, str(int(number)), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (code, "")
