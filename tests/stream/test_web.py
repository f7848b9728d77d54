"""The pages, over real sockets: what they say, and that nobody can keep their server busy."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable

import pytest
from prometheus_client import CollectorRegistry, Counter

from tests.contract.support import until
from tests.servers.process import free_ports
from worker.settings import SettingsError
from worker.stream import web
from worker.stream.web import MOST_CONNECTIONS, Pages, Readiness

WITHIN_S = 60
HALF_A_HEAD = b"GET /livez HTTP/1.1\r\nHost: a\r\n"
MANY = 200
READY = Readiness()


def serve(body: Callable[[int], Awaitable[None]], readiness: Readiness = READY) -> None:
    """Run `body` with the port on which the pages are served."""

    async def run() -> None:
        port = free_ports(1)[0]
        registry = CollectorRegistry()
        Counter("batches", "Batches taken.", registry=registry).inc()
        pages = Pages("127.0.0.1", port, ready=lambda: readiness, registry=registry)
        await pages.start()
        try:
            async with asyncio.timeout(WITHIN_S):
                await body(port)
        finally:
            await pages.stop()

    asyncio.run(run())


async def get(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def ended(reader: asyncio.StreamReader) -> None:
    """Return once the server has closed the connection."""
    try:
        while await reader.read(65_536):
            pass
    except ConnectionError:
        pass


def test_ready_is_200_and_its_body_says_no_more_than_there_is() -> None:
    async def body(port: int) -> None:
        assert await get(port, "/livez") == (200, '{"live": true}')
        assert await get(port, "/readyz") == (200, '{"ready": true, "reasons": []}')
        status, metrics = await get(port, "/metrics")
        assert (status, "batches_total 1.0" in metrics) == (200, True)
        assert (await get(port, "/"))[0] == 404
        assert (await get(port, "/livez", "POST"))[0] == 405
        assert await get(port, "/livez", "HEAD") == (200, "")

    serve(body)


def test_a_warning_does_not_make_it_unready() -> None:
    async def body(port: int) -> None:
        status, text = await get(port, "/readyz")
        assert status == 200
        assert json.loads(text) == {"ready": True, "reasons": [], "warnings": ["no append-only file"]}

    serve(body, Readiness(warnings=["no append-only file"]))


def test_a_reason_makes_it_unready() -> None:
    async def body(port: int) -> None:
        status, text = await get(port, "/readyz")
        assert (status, json.loads(text)) == (503, {"ready": False, "reasons": ["Kafka is away"]})

    serve(body, Readiness(["Kafka is away"]))


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD], ids=["silent", "half a head"])
def test_many_that_never_ask_are_held_in_small_numbers_and_closed_while_others_are_answered(sent: bytes) -> None:
    async def body(port: int) -> None:
        opened = []
        for _ in range(MANY):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            opened.append((asyncio.create_task(ended(reader)), writer))
            assert await get(port, "/livez") == (200, '{"live": true}')
        await until(lambda: sum(not end.done() for end, _ in opened) <= MOST_CONNECTIONS, "most to be closed")
        assert (await get(port, "/readyz"))[0] == 200
        await asyncio.gather(*(end for end, _ in opened))
        for _, writer in opened:
            writer.close()

    serve(body)


def test_a_request_whose_body_never_comes_is_closed() -> None:
    async def body(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
        await ended(reader)
        writer.close()

    serve(body)


def test_one_who_does_not_read_the_answer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_bytes = 50_000_000
    monkeypatch.setattr(web, "generate_latest", lambda _registry: b"x" * answer_bytes)

    async def body(port: int) -> None:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await ended(reader)  # what came first has been closed as well
            writer.close()
            assert await asyncio.to_thread(read_all, client) < answer_bytes

    serve(body)


def read_all(client: socket.socket) -> int:
    """Return how many bytes there were to be read before the end."""
    received = 0
    try:
        while part := client.recv(1_000_000):
            received += len(part)
    except ConnectionError:
        pass
    return received


def test_a_port_that_is_taken_is_refused_by_the_name_of_its_setting() -> None:
    async def body(port: int) -> None:
        other = Pages("127.0.0.1", port, ready=Readiness, registry=CollectorRegistry())
        with pytest.raises(SettingsError, match=rf"RATINGS_WEB_PORT is {port}, .* or 0 for no web server"):
            await other.start()
        await other.stop()

    serve(body)


def test_an_address_that_is_not_ours_is_refused_by_the_name_of_its_setting() -> None:
    async def body(port: int) -> None:
        for host in ("192.0.2.1", "no-such-host.invalid"):
            other = Pages(host, port, ready=Readiness, registry=CollectorRegistry())
            with pytest.raises(SettingsError, match=f"RATINGS_WEB_HOST is '{host}'"):
                await other.start()
            await other.stop()

    serve(body)
