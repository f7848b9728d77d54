"""What a command imports before it answers: only what it needs, counted in modules, for seconds are the machine's."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from tests.cli.standing import Standing
from tests.ratings.ladder import finished
from worker.cli.commands import imported
from worker.cli.main import AllCommands, app

RUN = """
import json, os, sys
from worker.cli.main import app
with open(os.devnull, "w") as sys.stdout:
    try:
        app(sys.argv[1:])
    except SystemExit as ended:
        assert not ended.code, ended.code
print(json.dumps([*sys.modules]), file=sys.__stdout__)
"""
WORKERS = {"faust", "mode", "aiohttp", "uvloop", "prometheus_client", "structlog"}
KAFKA = {"aiokafka"}
REDIS = {"redis", "hiredis"}
SCHEMAS = {"jsonschema_rs"}
EMBEDDED = {"noida_db"}
TABLES = {"rich"}
SETTINGS = {"pydantic_settings"}


def packages(arguments: Sequence[str], most: int, **environment: str) -> Counter[str]:
    """Run a command in a process of its own, and return how many modules it has of every package, at `most` in all."""
    variables = {"PATH": "", "HOME": "", **environment}
    command = [sys.executable, "-c", RUN, *arguments]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    modules = json.loads(ended.stdout)
    assert len(modules) <= most, f"{len(modules)} modules"
    return Counter(name.partition(".")[0] for name in modules)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["player", "--help"], ["leaderboard", "--help"], ["explain", "--help"], ["worker", "--help"]],
    ids=" ".join,
)
def test_help_needs_neither_servers_nor_settings(arguments: list[str]) -> None:
    found = packages(arguments, most=560)
    assert not found.keys() & (WORKERS | KAFKA | REDIS | SCHEMAS | EMBEDDED | SETTINGS)


@pytest.mark.parametrize("arguments", [["player", "gammon42", "ann"], ["explain", "gammon42", "m-1"]], ids=" ".join)
def test_a_command_that_reads_needs_no_more_than_redis(standing: Standing, arguments: list[str]) -> None:
    standing.rate(finished("gammon42", "m-1", "ann", "bob"))
    variables = {"RATINGS_REDIS_URL": standing.url, "RATINGS_REDIS_NAMESPACE": standing.namespace}
    found = packages(arguments, most=560, **variables)
    assert not found.keys() & (WORKERS | KAFKA | SCHEMAS | EMBEDDED | TABLES)


def test_a_pools_file_is_checked_without_any_server() -> None:
    found = packages(["pools", "check"], most=450)
    assert not found.keys() & (WORKERS | KAFKA | REDIS | SCHEMAS | EMBEDDED | TABLES)


@pytest.mark.parametrize("arguments", [["topics", "--help"], ["audit", "--help"], ["simulate", "--help"]], ids=" ".join)
def test_what_speaks_to_kafka_needs_no_worker(arguments: list[str]) -> None:
    assert not packages(arguments, most=850).keys() & (WORKERS | EMBEDDED)


@pytest.mark.parametrize("command", AllCommands.listed, ids=lambda command: command.name)
def test_the_help_lists_a_command_with_the_first_paragraph_of_its_own(command: AllCommands) -> None:
    own = imported(command.name, command.place).help
    assert " ".join(own.split("\n\n")[0].split()) == command.help


def test_a_misspelt_command_is_told_with_what_was_probably_meant() -> None:
    result = CliRunner().invoke(app, ["playr"])
    assert result.exit_code == 2
    assert "'player'" in result.stderr
