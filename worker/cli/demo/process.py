"""A server process that ends with the process that started it, and waiting for it with a deadline."""

import atexit
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Below the ephemeral range, so that no client connection takes a port between looking and listening.
_PORTS = range(20_000, 32_000)
_TAIL_BYTES = 2_000


class ServerFailedError(RuntimeError):
    """A server did not come up, or did not end; the message carries the end of its log."""


def free_ports(count: int) -> list[int]:
    """Return `count` different TCP ports that nothing listens on at 127.0.0.1."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.sample(_PORTS, len(_PORTS)):
            listener = held.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                return found
    raise ServerFailedError(f"no {count} free ports from {_PORTS.start} to {_PORTS.stop} on 127.0.0.1")


def accepts_connections(port: int) -> bool:
    """Tell whether something listens on the port at 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], what: str, within_s: float = 60) -> None:
    """Poll until the condition holds; raises `ServerFailedError` naming `what` once `within_s` seconds are over."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise ServerFailedError(f"waited {within_s:g} s for {what}")
        time.sleep(0.05)


class ServerProcess:
    """One server in a process group of its own, writing to `log`; it can be ended and started again."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self._command = [*_dies_with_parent(), *command]
        self._log = log
        self._env = {**os.environ, **(env or {})}
        self._log_start = 0
        self._process = self._launch()
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        """Its process id, also that of its process group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """What it ended with (minus the signal that killed it), None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        """Return what the server wrote since it was last started."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def wait_ready(self, ready: Callable[[], bool], what: str, within_s: float = 60) -> None:
        """Poll until `ready`; a server that ends or is too slow is killed and raises `ServerFailedError`."""

        def is_ready() -> bool:
            if not self.alive:
                raise ServerFailedError(f"{what} ended at once with code {self._process.returncode}")
            return ready()

        try:
            wait_until(is_ready, f"{what} to be ready", within_s)
        except ServerFailedError as error:
            self.kill()
            raise ServerFailedError(f"{error}; its log {self._log} ends: {self.output()[-_TAIL_BYTES:]}") from None

    def stop(self, within_s: float = 30) -> None:
        """End the server with SIGTERM, and with SIGKILL if it is still there after `within_s` seconds."""
        if self.alive:
            self._process.terminate()
            self._process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(within_s)
        self.kill()

    def kill(self) -> None:
        """End the server and what it started with SIGKILL, and wait until it is gone."""
        if self.alive:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()

    def start_again(self) -> None:
        """Start the same command anew after it has ended."""
        self.kill()
        self._process = self._launch()

    def _launch(self) -> "subprocess.Popen[bytes]":
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - a command of ours
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )


def _dies_with_parent() -> list[str]:
    # The kernel's signal follows the thread that forked, so only the main thread may ask for it.
    setpriv = shutil.which("setpriv")
    in_main_thread = threading.current_thread() is threading.main_thread()
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv and in_main_thread else []
