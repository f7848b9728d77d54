"""The embedded server of the `noida-db` package: one small process that speaks Kafka's and Redis's protocols.

It has no transactions, and what it acknowledged may not survive a kill: for quick tests and the demo only.
"""

import os
from importlib.resources import files
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.cli.demo.process import ServerProcess, accepts_connections, free_ports


class NotInstalledError(Exception):
    """The embedded server's package is not installed; one sentence says how to get it, or do without."""


class Embedded:
    """A running embedded server: `.bootstrap` is its Kafka side, `.url` its Redis side."""

    def __init__(self, process: ServerProcess, kafka_port: int, redis_port: int) -> None:
        self._process = process
        self._kafka_port = kafka_port
        self._redis_port = redis_port
        self.bootstrap = f"127.0.0.1:{kafka_port}"
        self.url = f"redis://127.0.0.1:{redis_port}/0"

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def restart(self) -> None:
        """Start it again on the same ports and directory, ending it first with SIGKILL if it still runs."""
        self._process.start_again()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until both sides answer."""
        self._process.wait_ready(self._answers, "noida-db")

    def _answers(self) -> bool:
        try:
            with redis.Redis(port=self._redis_port, socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
                return bool(client.ping()) and accepts_connections(self._kafka_port)
        except redis.RedisError:
            return False


def start_embedded(directory: Path) -> Embedded:
    """Start the embedded server with its data in `directory`, on free ports of 127.0.0.1.

    Raises NotInstalledError without its package, ServerFailedError where it does not start.
    """
    binary = _binary()
    directory.mkdir(parents=True, exist_ok=True)
    kafka_port, redis_port = free_ports(2)
    services = ["--only", "kafka,redis", "--kafka-port", str(kafka_port), "--redis-port", str(redis_port)]
    process = ServerProcess([str(binary), "start", "--data-dir", str(directory), *services], directory / "server.log")
    server = Embedded(process, kafka_port, redis_port)
    server.wait_ready()
    return server


def _binary() -> Path:
    try:
        package = files("noida_db")
    except ModuleNotFoundError:
        raise NotInstalledError(
            "The demo's embedded server is not installed: `pip install noida-db` brings it (the extra `demo`), "
            "and with --kafka and --redis the demo uses servers of yours."
        ) from None
    # Not the package's launcher: its child would outlive it.
    binary = Path(str(package / "noida-db"))
    if not os.access(binary, os.X_OK):
        binary.chmod(0o755)
    return binary
