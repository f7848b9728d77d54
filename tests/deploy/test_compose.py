"""What `docker compose up --scale worker=4` rests on, read from the files: no Docker engine is needed."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from typer.testing import CliRunner

from worker.cli.main import app
from worker.settings import Settings, unknown_variables

_ROOT = Path(__file__).parents[2]
_COMPOSE: dict[str, Any] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
_SERVICES: dict[str, dict[str, Any]] = _COMPOSE["services"]
_OURS = ("topics", "worker")
_OTHERS = sorted(_SERVICES.keys() - _OURS)
_DOCKER_FILE = (_ROOT / "Dockerfile").read_text(encoding="utf-8")
_PINNED = re.compile(r"[a-z/-]+:(?P<version>\d+\.\d+\.\d+)(-[a-z0-9]+)*")
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}")
_MENDED = {"kafka": (4, 1, 2), "redis": (7, 4, 6)}
"""The releases that mended what was known of the ones before; Redis' is for CVE-2025-49844."""


def _has_compose_plugin() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


def _version(name: str) -> tuple[int, ...]:
    match = _PINNED.match(_SERVICES[name]["image"])
    assert match
    return tuple(int(part) for part in match["version"].split("."))


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
    image, at, digest = _SERVICES[name]["image"].partition("@")
    assert _PINNED.fullmatch(image)
    assert name in _OURS or _DIGEST.fullmatch(at + digest)


@pytest.mark.parametrize("name", _MENDED)
def test_no_image_is_older_than_what_mended_it(name: str) -> None:
    assert _version(name) >= _MENDED[name]


def test_the_tests_run_on_the_kafka_that_ships() -> None:
    maven = {"m": "http://maven.apache.org/POM/4.0.0"}
    dependencies = ElementTree.parse(_ROOT / "deploy/kafka/dev/pom.xml").findall(".//m:dependency", maven)
    versions = {
        found.findtext("m:artifactId", "", maven): found.findtext("m:version", "", maven) for found in dependencies
    }
    assert versions["kafka_2.13"] == ".".join(str(part) for part in _version("kafka"))


def test_the_image_is_built_on_a_pinned_one_and_runs_as_nobody_special() -> None:
    bases = re.findall(r"^FROM (\S+)", _DOCKER_FILE, re.MULTILINE)
    assert bases
    for base in bases:
        image, at, digest = base.partition("@")
        assert _PINNED.fullmatch(image)
        assert _DIGEST.fullmatch(at + digest)
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


@pytest.mark.parametrize("name", _SERVICES)
def test_nothing_takes_more_of_the_host_than_its_share(name: str) -> None:
    limits = _SERVICES[name]["deploy"]["resources"]["limits"]
    assert re.fullmatch(r"\d+[MG]", limits["memory"])
    assert 0 < float(limits["cpus"]) <= 2
    assert 0 < limits["pids"] <= 1024


@pytest.mark.parametrize("name", _SERVICES)
def test_no_log_grows_without_end(name: str) -> None:
    logging = _SERVICES[name]["logging"]
    assert logging["driver"] == "json-file"
    assert re.fullmatch(r"\d+m", logging["options"]["max-size"])
    assert int(logging["options"]["max-file"]) > 1


@pytest.mark.parametrize("name", _SERVICES)
def test_nothing_writes_but_where_it_has_to_or_gains_a_right(name: str) -> None:
    service = _SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "cap_add" not in service
    assert all(re.search(r":(exec,)?size=\d+m$", mount) for mount in service.get("tmpfs", []))


def test_kafka_may_write_what_its_start_writes_and_run_the_codecs_that_it_unpacks() -> None:
    mounts = dict(mount.split(":", 1) for mount in _SERVICES["kafka"]["tmpfs"])
    assert mounts.keys() == {"/opt/kafka/config", "/opt/kafka/logs", "/tmp"}
    assert "exec" in mounts["/tmp"].split(",")


@pytest.mark.parametrize("name", _OURS)
def test_every_setting_is_one_of_ours(name: str) -> None:
    environment = _SERVICES[name]["environment"]
    known = {f"RATINGS_{field.upper()}" for field in Settings.model_fields} | {"RATINGS_REDIS_PASSWORD_FILE"}
    assert set(environment) <= known
    assert unknown_variables(environment) == []


def test_a_worker_refuses_a_redis_that_may_forget_and_answers_to_other_containers() -> None:
    environment = _SERVICES["worker"]["environment"]
    assert environment["RATINGS_REQUIRE_AOF"] == "1"
    assert environment["RATINGS_WEB_HOST"] == "0.0.0.0"


@pytest.mark.parametrize("name", _OURS)
def test_every_command_is_one_of_ours(name: str) -> None:
    result = CliRunner().invoke(app, [*_SERVICES[name]["command"], "--help"])
    assert result.exit_code == 0, result.output


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


def test_a_worker_that_ends_is_started_again_for_ever_and_run_worker_keeps_those_that_need_a_person() -> None:
    worker = _SERVICES["worker"]
    assert worker["restart"] == "unless-stopped"
    assert worker["entrypoint"] == ["run-worker", "gammon-ratings"]
    assert "COPY --chmod=755 deploy/compose/run-worker /usr/local/bin/run-worker" in _DOCKER_FILE
    assert "!deploy/compose/run-worker" in (_ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", _OTHERS)
def test_no_health_check_starts_a_java_machine(name: str) -> None:
    assert not re.search(r"kafka-|java", " ".join(_SERVICES[name]["healthcheck"]["test"]))
