"""A real `redis-server` with an append-only file in a directory of its own."""

import shutil
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.process import ServerProcess, free_ports


def redis_available() -> bool:
    """Tell whether a real Redis can be started here."""
    return shutil.which("redis-server") is not None


class RedisServer:
    """A running Redis; what it acknowledged survives `kill()` and `restart()` (`appendfsync always`)."""

    def __init__(self, process: ServerProcess, port: int, directory: Path) -> None:
        self._process = process
        self.port = port
        self.directory = directory
        self.url = f"redis://127.0.0.1:{port}/0"

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._process.pause()

    def resume(self) -> None:
        """Let it go on after `pause()`."""
        self._process.resume()

    def restart(self) -> None:
        """Start it again on the same port and directory, ending it first with SIGKILL if it still runs."""
        self._process.start_again()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until it answers, its append-only file loaded."""
        self._process.wait_ready(self._answers, "redis-server")

    def _answers(self) -> bool:
        try:
            with redis.Redis(port=self.port, socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def start_redis(directory: Path, *args: str, port: int | None = None) -> RedisServer:
    """Start Redis in `directory`, made if absent; `args` are further options as on its command line."""
    directory.mkdir(parents=True, exist_ok=True)
    port = port or free_ports(1)[0]
    options = {
        "--port": str(port),
        "--bind": "127.0.0.1",
        "--dir": str(directory),
        "--daemonize": "no",
        "--save": "",
        "--appendonly": "yes",
        "--appendfsync": "always",
    }
    command = ["redis-server", *(word for option in options.items() for word in option), *args]
    server = RedisServer(ServerProcess(command, directory / "server.log"), port, directory)
    server.wait_ready()
    return server
