"""A server process that ends with the process that started it, and that a test can freeze."""

import signal

from worker.cli.demo import process
from worker.cli.demo.process import ServerFailedError, accepts_connections, free_ports, wait_until

__all__ = ["ServerFailedError", "ServerProcess", "accepts_connections", "free_ports", "wait_until"]


class ServerProcess(process.ServerProcess):
    """One server in a process group of its own, writing to `log`; it can be ended, frozen and started again."""

    def send(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        self._process.send_signal(number)

    def pause(self) -> None:
        """Freeze the server (SIGSTOP): its connections stay open and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)
