"""What `docker compose up --scale worker=4` rests on, read from the files: no Docker engine is needed."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from worker.cli.main import app
from worker.settings import Settings, unknown_variables

_ROOT = Path(__file__).parents[2]
_COMPOSE: dict[str, Any] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
_SERVICES: dict[str, dict[str, Any]] = _COMPOSE["services"]
_OURS = ("topics", "worker")
_DOCKER_FILE = (_ROOT / "Dockerfile").read_text(encoding="utf-8")
_PINNED = re.compile(r".+:\d+\.\d+\.\d+(-[a-z0-9]+)*")


def _has_compose_plugin() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _has_compose_plugin(), reason="left out: docker has no compose plugin here")
def test_docker_compose_reads_the_file() -> None:
    done = subprocess.run(
        ["docker", "compose", "--file", _ROOT / "docker-compose.yml", "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", _SERVICES)
def test_every_image_is_pinned(name: str) -> None:
    assert _PINNED.fullmatch(_SERVICES[name]["image"])


def test_the_image_is_built_on_a_pinned_one_and_runs_as_nobody_special() -> None:
    bases = re.findall(r"^FROM (\S+)", _DOCKER_FILE, re.MULTILINE)
    assert bases
    assert all(_PINNED.fullmatch(base) for base in bases)
    users = re.findall(r"^USER (\S+)", _DOCKER_FILE, re.MULTILINE)
    assert users
    assert users[-1] not in {"root", "0"}


def test_several_workers_fit_on_one_host() -> None:
    assert "ports" not in _SERVICES["worker"]
    assert "container_name" not in _SERVICES["worker"]


@pytest.mark.parametrize("name", _SERVICES)
def test_nothing_is_published_beyond_loopback(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in _SERVICES[name].get("ports", []))
    assert "network_mode" not in _SERVICES[name]


@pytest.mark.parametrize("name", _OURS)
def test_every_setting_is_one_of_ours(name: str) -> None:
    environment = _SERVICES[name]["environment"]
    known = {f"RATINGS_{field.upper()}" for field in Settings.model_fields} | {"RATINGS_REDIS_PASSWORD_FILE"}
    assert set(environment) <= known
    assert unknown_variables(environment) == []


@pytest.mark.parametrize("name", _OURS)
def test_every_command_is_one_of_ours(name: str) -> None:
    command: Any = typer.main.get_command(app)
    for word in _SERVICES[name]["command"]:
        assert word in command.commands
        command = command.commands[word]


def test_redis_syncs_every_write_and_keeps_it_on_a_volume() -> None:
    script = _SERVICES["redis"]["command"][-1]
    assert "--appendonly yes" in script
    assert "--appendfsync always" in script
    assert _SERVICES["redis"]["volumes"] == ["redis:/data"]
    assert "redis" in _COMPOSE["volumes"]


def test_the_password_of_redis_comes_from_a_file_that_is_not_in_the_repository() -> None:
    secret = _COMPOSE["secrets"]["redis-password"]["file"]
    assert (_ROOT / f"{secret}.example").is_file()
    assert secret in (_ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    for name in ("redis", "worker"):
        assert _SERVICES[name]["secrets"] == ["redis-password"]
    assert _SERVICES["worker"]["environment"]["RATINGS_REDIS_PASSWORD_FILE"] == "/run/secrets/redis-password"


def test_a_worker_starts_once_redis_answers_and_the_topics_are_there() -> None:
    assert _SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert _SERVICES["worker"]["depends_on"] == {
        "topics": {"condition": "service_completed_successfully"},
        "redis": {"condition": "service_healthy"},
    }
    assert "/readyz" in _SERVICES["worker"]["healthcheck"]["test"][-1]
