"""The commands of docker-compose.yml that run in the containers of Kafka and Redis, run here against real ones."""

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis
from redis.exceptions import AuthenticationError

from tests.conftest import SharedKafka
from tests.servers.process import ServerProcess, free_ports

_ROOT = Path(__file__).parents[2]
_SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text(encoding="utf-8"))[
    "services"
]
_SECRET = "/run/secrets/redis-password"


def kafka_check(port: int) -> list[str]:
    """Return Kafka's health check, for a broker at another port."""
    _, *words, script = _SERVICES["kafka"]["healthcheck"]["test"]
    assert "/19092" in script
    return [*words, script.replace("/19092", f"/{port}")]


needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="left out: bash, which Kafka's image has, is not here")


@needs_bash
@pytest.mark.real_kafka
def test_kafka_is_healthy_when_it_answers(kafka: SharedKafka) -> None:
    port = int(kafka.bootstrap.rpartition(":")[2])
    assert subprocess.run(kafka_check(port), check=False).returncode == 0


@needs_bash
def test_kafka_is_not_healthy_before_it_listens() -> None:
    (port,) = free_ports(1)
    assert subprocess.run(kafka_check(port), capture_output=True, check=False).returncode != 0


@needs_bash
def test_kafka_is_not_healthy_when_it_listens_and_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging, pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(kafka_check(hanging.getsockname()[1]), timeout=1, check=False)


@pytest.mark.real_redis
def test_redis_starts_as_the_system_of_record_behind_a_password_and_is_healthy_when_it_answers(tmp_path: Path) -> None:
    secret, data = tmp_path / "password", tmp_path / "data"
    secret.write_text("s3cret\n")
    data.mkdir()
    (port,) = free_ports(1)

    def here(script: str) -> str:
        return script.replace("$$", "$").replace(_SECRET, str(secret))

    *shell, script = _SERVICES["redis"]["command"]
    started = here(script).replace("redis-server -", f"redis-server - --port {port} --bind 127.0.0.1", 1)
    server = ServerProcess([*shell, started.replace("/data", str(data))], tmp_path / "log")
    check = here(_SERVICES["redis"]["healthcheck"]["test"][1]).replace("redis-cli", f"redis-cli -p {port}")
    try:
        server.wait_ready(lambda: subprocess.run(["sh", "-c", check], check=False).returncode == 0, "redis-server")
        with Redis(port=port, password="s3cret", decode_responses=True) as client:
            wanted = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
            assert {name: client.config_get(name)[name] for name in wanted} == wanted
            assert int(client.config_get("maxmemory")["maxmemory"]) > 0
        with Redis(port=port, password="wrong") as client, pytest.raises(AuthenticationError):
            client.ping()
    finally:
        server.kill()
    assert (data / "appendonlydir").is_dir()
