"""A server that takes connections and never answers, as one that is frozen does."""

import socket
import threading

from tests.servers.process import wait_until


class SilentServer:
    """Listens on a free port of 127.0.0.1."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._take, daemon=True).start()

    def until_asked(self) -> None:
        """Wait until somebody has connected."""
        wait_until(lambda: bool(self._taken), "somebody to connect")

    def close(self) -> None:
        """Stop listening and drop who has connected."""
        for one in (self._listener, *self._taken):
            one.close()

    def _take(self) -> None:
        while True:
            try:
                self._taken.append(self._listener.accept()[0])
            except OSError:
                return
