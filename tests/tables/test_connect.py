import asyncio
import socket
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.servers.process import PATIENCE_S, ServerProcess, accepts_connections, free_ports
from tests.servers.redis import RedisServer, start_redis
from worker.tables import connect as module
from worker.tables.connect import ConnectionUrlError, connect, describe
from worker.tables.url import parse_url

SECRET = "hunter2"


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "kind", "tls", "hosts", "db"),
        [
            ("redis://cache", "single", False, (("cache", 6379),), 0),
            ("redis://cache:6380/2", "single", False, (("cache", 6380),), 2),
            ("rediss://cache:6380/", "single", True, (("cache", 6380),), 0),
            ("redis://[::1]:6380/1", "single", False, (("::1", 6380),), 1),
            ("redis+sentinel://a:1,b/main", "sentinel", False, (("a", 1), ("b", 26379)), 0),
            ("rediss+sentinel://a,[fe80::1]/main/3", "sentinel", True, (("a", 26379), ("fe80::1", 26379)), 3),
            ("redis+cluster://a:7000,b:7001", "cluster", False, (("a", 7000), ("b", 7001)), 0),
            ("rediss+cluster://a/0", "cluster", True, (("a", 6379),), 0),
        ],
    )
    def test_every_form_is_understood(self, url, kind, tls, hosts, db):
        target = parse_url(url)
        assert (target.kind, target.tls, target.hosts, target.db) == (kind, tls, hosts, db)

    @given(user=st.text(min_size=1), password=st.text(min_size=1), form=st.sampled_from(["", "+sentinel", "+cluster"]))
    def test_user_and_password_may_hold_anything_percent_encoded(self, user, password, form):
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        target = parse_url(f"redis{form}://{login}@a:1{'/main' if form == '+sentinel' else ''}")
        assert (target.username, target.password) == (user, password)

    def test_a_password_may_stand_without_a_user(self):
        target = parse_url(f"redis://:{SECRET}@a")
        assert (target.username, target.password) == (None, SECRET)

    def test_sentinels_may_have_a_login_of_their_own(self):
        target = parse_url(f"redis+sentinel://ann:one@a/main?sentinel_username=bob&sentinel_password={SECRET}")
        assert (target.username, target.sentinel_username, target.sentinel_password) == ("ann", "bob", SECRET)

    @pytest.mark.parametrize(
        ("url", "sentence"),
        [
            (f"{SECRET}", "no scheme"),
            (f"http://:{SECRET}@a", "scheme http is none of redis, rediss"),
            ("redis://", "host 1"),
            (f"redis://:{SECRET}", "host 1"),
            (f"redis://:{SECRET}@", "host 1"),
            (f"redis://:pass/{SECRET}@a:1", "has an @ after its host"),
            (f"redis://:pass?{SECRET}@a:1", "has an @ after its host"),
            (f"redis://a:1#{SECRET}", "has a #"),
            (f"redis://a:{SECRET}", "port of host 1"),
            ("redis://a:0", "port of host 1"),
            ("redis://a:65536", "port of host 1"),
            ("redis://::1:6379", "port of host 1|host 1"),
            ("redis://[nonsense]:6379", "no IPv6 address"),
            ("redis://a,b", "several hosts"),
            (f"redis://a/{SECRET}", "database"),
            ("redis+cluster://a/1", "only database 0"),
            ("redis+cluster://a,,b", "host 2"),
            ("redis+sentinel://a", "no service"),
            ("redis+sentinel://a/main/x", "database"),
            (f"redis://a?password={SECRET}", "option"),
            ("redis://a?ssl_ca_certs=/x", "need rediss://"),
            (f"rediss://a?ssl_ca_certs=/{SECRET}", "does not name a file"),
            (f"rediss://a?ssl_cert_reqs={SECRET}", "required or none"),
        ],
    )
    def test_a_wrong_one_is_refused_without_showing_a_secret(self, url, sentence):
        with pytest.raises(ConnectionUrlError, match=sentence) as caught:
            connect(url)
        assert SECRET not in str(caught.value)

    def test_a_password_given_twice_is_refused(self):
        with pytest.raises(ConnectionUrlError, match="twice"):
            connect(f"redis://:{SECRET}@a", password=SECRET)

    @pytest.mark.parametrize(
        ("url", "described"),
        [
            (f"redis://ann:{SECRET}@a", "redis://a:6379/0"),
            (f"rediss+sentinel://:{SECRET}@a,[::1]/main?sentinel_password={SECRET}", None),
            (f"redis+cluster://:{SECRET}@a:1,b:2", "redis+cluster://a:1,b:2"),
        ],
    )
    def test_logs_show_where_but_never_who(self, url, described):
        assert describe(url) == (described or "rediss+sentinel://a:26379,[::1]:26379/main/0")
        assert SECRET not in repr(parse_url(url))


def ask(url: str, question: Callable[[Redis | RedisCluster], Awaitable[object]], *, password: str | None = None):
    async def run() -> object:
        client = connect(url, password=password)
        try:
            return await question(client)
        finally:
            await client.aclose()

    return asyncio.run(run())


async def store_and_read(client: Redis | RedisCluster) -> object:
    await client.set("{connect}:key", b"\xff\x00")
    return await client.get("{connect}:key")


class TestOneServer:
    def test_answers_in_bytes(self, redis_server):
        assert ask(redis_server.url, store_and_read) == b"\xff\x00"

    @pytest.mark.real_redis
    def test_lets_in_who_has_the_password_from_either_place(self, tmp_path):
        password = "p@ss/w?rd#%"
        server = start_redis(tmp_path)
        ask(server.url, lambda client: client.config_set("requirepass", password))
        try:
            encoded = "p%40ss%2Fw%3Frd%23%25"
            assert ask(f"redis://:{encoded}@127.0.0.1:{server.port}/1", store_and_read) == b"\xff\x00"
            assert ask(f"redis://127.0.0.1:{server.port}", store_and_read, password=password) == b"\xff\x00"
            with pytest.raises(RedisError):
                ask(f"redis://127.0.0.1:{server.port}", store_and_read)
        finally:
            server.kill()

    def test_that_never_answers_is_given_up_in_time_and_not_asked_again(self, monkeypatch):
        monkeypatch.setattr(module, "SOCKET_TIMEOUT_S", 0.2)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            with pytest.raises(RedisTimeoutError):
                ask(f"redis://127.0.0.1:{silent.getsockname()[1]}", lambda client: client.ping())
            silent.settimeout(0)
            silent.accept()[0].close()
            with pytest.raises(BlockingIOError):
                silent.accept()


class TestCluster:
    def test_keys_of_every_node_are_reached(self, redis_cluster):
        async def spread(client: RedisCluster) -> object:
            names = [f"connect-{number}" for number in range(50)]
            for name in names:
                await client.set(name, name)
            return [await client.get(name) for name in names] == [name.encode() for name in names]

        assert ask(redis_cluster.url, spread)

    def test_one_living_node_is_enough_to_find_the_others(self, redis_cluster):
        dead = free_ports(1)[0]
        living = redis_cluster.url.rpartition(",")[2]
        assert ask(f"redis+cluster://127.0.0.1:{dead},{living}", store_and_read) == b"\xff\x00"

    def test_a_key_is_followed_when_its_slot_moves(self, redis_cluster):
        async def read_around_a_move(client: RedisCluster) -> object:
            await client.set("connect-moved", "1")
            slot = client.keyslot("connect-moved")
            await asyncio.to_thread(redis_cluster.move_slot, slot, (redis_cluster.owner(slot) + 1) % 3)
            return await client.get("connect-moved")

        assert ask(redis_cluster.url, read_around_a_move) == b"1"


@pytest.mark.real_redis
class TestSentinel:
    @pytest.fixture
    def group(self, tmp_path):
        master = start_redis(tmp_path / "master")
        replica = start_redis(tmp_path / "replica", "--replicaof", "127.0.0.1", str(master.port))
        port = free_ports(1)[0]
        config = tmp_path / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {tmp_path}\nrequirepass {SECRET}\n"
            f"sentinel monitor main 127.0.0.1 {master.port} 1\n"
            "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n"
        )
        sentinel = ServerProcess(["redis-server", str(config), "--sentinel"], tmp_path / "sentinel.log")
        sentinel.wait_ready(lambda: accepts_connections(port), "redis-sentinel")
        yield master, replica, f"redis+sentinel://127.0.0.1:{free_ports(1)[0]},127.0.0.1:{port}/main", port
        sentinel.kill()
        replica.kill()
        master.kill()

    def test_the_master_is_found_and_after_its_death_the_new_one(self, group):
        master, replica, hosts, port = group

        async def port_of_the_master(client: Redis) -> str:
            return (await client.config_get("port"))["port"]

        async def run() -> None:
            sentinel = connect(f"redis://:{SECRET}@127.0.0.1:{port}")
            await until(lambda: knows_replica(sentinel))
            client = connect(f"{hosts}/0?sentinel_password={SECRET}")
            assert await port_of_the_master(client) == str(master.port)
            master.kill()

            async def moved() -> bool:
                try:
                    return await port_of_the_master(client) == str(replica.port)
                except RedisError:
                    return False

            await until(moved)
            await until(lambda: writable(client))
            await client.aclose()
            await sentinel.aclose()

        asyncio.run(run())

    def test_closing_the_client_closes_its_connections_to_the_sentinels(self, group):
        _, _, hosts, port = group

        async def run() -> None:
            sentinel = connect(f"redis://:{SECRET}@127.0.0.1:{port}")
            await until(lambda: knows_replica(sentinel))
            alone = len(await sentinel.client_list())
            client = connect(f"{hosts}?sentinel_password={SECRET}")
            await client.ping()
            assert len(await sentinel.client_list()) == alone + 1
            await client.aclose()

            async def closed() -> bool:
                return len(await sentinel.client_list()) == alone

            await until(closed)
            await sentinel.aclose()

        asyncio.run(run())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def knows_replica(sentinel: Redis) -> bool:
    return (await sentinel.info("sentinel"))["master0"]["slaves"] == 1


async def writable(client: Redis) -> bool:
    try:
        return await client.set("connect", "1")
    except RedisError:
        return False


@pytest.mark.real_redis
class TestTls:
    @pytest.fixture
    def server(self, tmp_path):
        cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other"),
                *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)),
            ],
            check=True,
            capture_output=True,
        )
        tls_port = free_ports(1)[0]
        options = ["--tls-port", str(tls_port), "--tls-cert-file", str(cert), "--tls-key-file", str(key)]
        server = start_redis(tmp_path / "redis", *options, "--tls-ca-cert-file", str(cert), "--tls-auth-clients", "no")
        yield server, tls_port, cert
        server.kill()

    def test_a_certificate_is_taken_from_whom_we_trust_and_from_nobody_else(
        self, server: tuple[RedisServer, int, Path]
    ):
        _, port, cert = server
        url = f"rediss://127.0.0.1:{port}/0"
        assert ask(f"{url}?ssl_ca_certs={cert}", store_and_read) == b"\xff\x00"
        assert ask(f"{url}?ssl_cert_reqs=none&ssl_check_hostname=false", store_and_read) == b"\xff\x00"
        with pytest.raises(RedisError, match=r"(?i)certificate"):
            ask(url, store_and_read)

    def test_the_name_in_the_certificate_must_be_the_hosts(self, server: tuple[RedisServer, int, Path]):
        _, port, cert = server
        with pytest.raises(RedisError, match=r"(?i)hostname"):
            ask(f"rediss://localhost:{port}/0?ssl_ca_certs={cert}", store_and_read)
        url = f"rediss://localhost:{port}/0?ssl_ca_certs={cert}&ssl_check_hostname=false"
        assert ask(url, store_and_read) == b"\xff\x00"
