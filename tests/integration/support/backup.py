"""A copy of what Redis has on disk, and going back to it: a restored backup, or writes that never reached the disk."""

import shutil
from pathlib import Path

from tests.servers.redis import RedisServer

AOF = "appendonlydir"


class Backup:
    """What a server had on disk when this was made."""

    def __init__(self, server: RedisServer, directory: Path) -> None:
        self._server = server
        self._copy = directory / "backup"
        server.pause()
        shutil.copytree(server.directory / AOF, self._copy)
        server.resume()

    def put_back(self) -> None:
        """Kill the server and start it again, on the same port, with what it had then."""
        self._server.kill()
        shutil.rmtree(self._server.directory / AOF)
        shutil.copytree(self._copy, self._server.directory / AOF)
        self._server.restart()
