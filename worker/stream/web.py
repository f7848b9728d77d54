"""What the worker tells about itself over HTTP: three pages, on a server that nobody can keep busy."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import mode
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from worker.settings import SettingsError

MOST_CONNECTIONS = 64
LONGEST_CONNECTION_S = 5.0
_END_S = 1.0
_OF_THE_PORT = (errno.EADDRINUSE, errno.EACCES)


class Readiness(NamedTuple):
    """Why the worker is not ready, one sentence each, none if it is; and what is wrong although it may be."""

    reasons: Sequence[str] = ()
    warnings: Sequence[str] = ()


class Pages(mode.Service):
    """Serves `/livez`, `/readyz` and `/metrics` on one address.

    `/livez` says that the event loop runs, and nothing else. `/readyz` is 200 only while `ready()` gives no reasons
    against it, else 503; its body is `{"ready": bool, "reasons": [...]}`, and `"warnings": [...]` where there are any.
    `/metrics` is the registry's text. A connection serves one request; after LONGEST_CONNECTION_S seconds it is closed
    however far that is, and so is the oldest one when there are more than MOST_CONNECTIONS. Starting raises
    SettingsError where the address cannot be had.
    """

    def __init__(self, host: str, port: int, *, ready: Callable[[], Readiness], registry: CollectorRegistry) -> None:
        super().__init__()
        self._host = host
        self._port = port
        self._ready = ready
        self._registry = registry
        self._runner: web.ServerRunner | None = None

    async def on_start(self) -> None:
        """Listen."""
        self._runner = web.ServerRunner(_BoundedServer(self._answer, access_log=None), shutdown_timeout=_END_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            raise SettingsError(_cannot_listen(self._host, self._port, error)) from error

    async def on_stop(self) -> None:
        """Stop listening, and close what is open."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        response = self._page(request)
        response.force_close()
        return response

    def _page(self, request: web.BaseRequest) -> web.Response:
        page = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics}.get(request.path)
        if page is None:
            return web.Response(status=404, text="There are /livez, /readyz and /metrics.\n")
        if request.method not in {"GET", "HEAD"}:
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        return page()

    def _livez(self) -> web.Response:
        return web.json_response({"live": True})

    def _readyz(self) -> web.Response:
        reasons, warnings = self._ready()
        body: dict[str, object] = {"ready": not reasons, "reasons": list(reasons)}
        if warnings:
            body["warnings"] = list(warnings)
        return web.json_response(body, status=503 if reasons else 200)

    def _metrics(self) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


class _BoundedServer(web.Server):
    """Holds few connections, none of them for long: whoever is slow, or silent, makes room for the others."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], **options: Any) -> None:
        super().__init__(handler, **options)
        self._open: dict[web.RequestHandler, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._open) == MOST_CONNECTIONS:
            self._end(next(iter(self._open)))
        self._open[handler] = (transport, self._loop.call_later(LONGEST_CONNECTION_S, self._end, handler))

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        if handler in self._open:
            _, deadline = self._open.pop(handler)
            deadline.cancel()

    def _end(self, handler: web.RequestHandler) -> None:
        transport, deadline = self._open.pop(handler)
        deadline.cancel()
        transport.abort()


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    why = error.strerror or str(error)
    if error.errno in _OF_THE_PORT:
        return (
            f"RATINGS_WEB_PORT is {port}, but {host}:{port} cannot be listened on ({why}): "
            "choose another port, or 0 for no web server."
        )
    return f"RATINGS_WEB_HOST is {host!r}, but must be an address of this machine to listen on ({why})."
