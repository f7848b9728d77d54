"""A server process that ends with the process that started it, and that a test can freeze."""

import signal
from collections.abc import Callable

from worker.cli.demo import process
from worker.cli.demo.process import ServerFailedError, accepts_connections, free_ports

__all__ = ["PATIENCE_S", "ServerFailedError", "ServerProcess", "accepts_connections", "free_ports", "wait_until"]

PATIENCE_S = 240.0
"""How long tests wait for what must come. It costs nothing when it comes, so no slow day may outlast it."""


def wait_until(condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
    """Poll until the condition holds; raises `ServerFailedError` naming `what` if it never does."""
    process.wait_until(condition, what, within_s)


class ServerProcess(process.ServerProcess):
    """One server in a process group of its own, writing to `log`; it can be ended, frozen and started again."""

    def wait_ready(self, ready: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        """Poll until `ready`; a server that ends or never is ready is killed and raises `ServerFailedError`."""
        super().wait_ready(ready, what, within_s)

    def send(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        self._process.send_signal(number)

    def pause(self) -> None:
        """Freeze the server (SIGSTOP): its connections stay open and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)
