"""A client for whatever Redis the settings name: one server, a Sentinel group or a cluster."""

from typing import Any

import hiredis
from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError
from redis.maint_notifications import MaintNotificationsConfig

from worker.tables.url import ConnectionUrlError, RedisTarget, describe, parse_url

__all__ = ["ConnectionUrlError", "RedisClient", "connect", "describe"]

RedisClient = Redis | RedisCluster

CONNECT_TIMEOUT_S = 5.0
SOCKET_TIMEOUT_S = 15.0
HEALTH_CHECK_INTERVAL_S = 30


def connect(url: str, *, password: str | None = None) -> RedisClient:
    """Return a client for `url` (forms: `parse_url`), which connects when it is first used.

    It answers in bytes, and never repeats a command on its own: whether a repetition is right is the caller's to know.
    `password` is for one that is kept outside the URL; giving both raises ConnectionUrlError, as a bad URL does.
    """
    target = parse_url(url)
    if password and target.password:
        raise ConnectionUrlError(
            "the Redis password is given twice: take it out of the URL, or leave the other one out"
        )
    login: dict[str, Any] = {"username": target.username, "password": password or target.password}
    if target.kind == "cluster":
        return _cluster(target, login)
    if target.kind == "sentinel":
        return _sentinel(target, login)
    host, port = target.hosts[0]
    connection_class = _SecureConnection if target.tls else _PlainConnection
    options = _node(target)
    options.pop("ssl", None)
    pool = ConnectionPool(connection_class=connection_class, host=host, port=port, db=target.db, **login, **options)
    return Redis.from_pool(pool)


class _PackedInC(AbstractConnection):
    """Packs commands in C, as redis-py itself does only where it is synchronous: a commit has thousands of keys."""

    def pack_command(self, *args: Any) -> list[bytes]:
        words = tuple(args[0].encode().split()) if isinstance(args[0], str) else (args[0],)
        return [hiredis.pack_command(words + args[1:])]


class _PlainConnection(_PackedInC, Connection):
    pass


class _SecureConnection(_PackedInC, SSLConnection):
    pass


def _socket(target: RedisTarget) -> dict[str, Any]:
    options: dict[str, Any] = {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": SOCKET_TIMEOUT_S,
        "socket_keepalive": True,
        "health_check_interval": HEALTH_CHECK_INTERVAL_S,
        "client_name": "gammon-ratings",
        "protocol": 2,
    }
    return options | ({"ssl": True, **target.tls_options} if target.tls else {})


def _node(target: RedisTarget) -> dict[str, Any]:
    return {
        **_socket(target),
        "retry": Retry(NoBackoff(), 0),
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }


def _cluster(target: RedisTarget, login: dict[str, Any]) -> RedisCluster:
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in target.hosts],
        retry=Retry(NoBackoff(), 0),
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
        **login,
        **_socket(target),
    )


class _Sentinel(Sentinel):
    """Says which sentinels do not name a master, without a page about its own clients."""

    async def discover_master(self, service_name: str) -> Any:
        try:
            return await super().discover_master(service_name)
        except MasterNotFoundError as error:
            hosts = ", ".join(
                "{host}:{port}".format(**client.connection_pool.connection_kwargs) for client in self.sentinels
            )
            if AuthenticationError.__name__ in str(error):
                raise AuthenticationError(f"a sentinel of {hosts} refuses the login") from None
            raise MasterNotFoundError(f"no sentinel of {hosts} answers and names a master {service_name!r}") from None


class _SentinelPool(SentinelConnectionPool):
    """Closes the connections to the sentinels together with those to the master, for nobody else holds them."""

    async def disconnect(self, inuse_connections: bool = True) -> None:
        await super().disconnect(inuse_connections=inuse_connections)
        if inuse_connections:
            await self.sentinel_manager.aclose()


def _sentinel(target: RedisTarget, login: dict[str, Any]) -> Redis:
    sentinel_login = {"username": target.sentinel_username, "password": target.sentinel_password}
    sentinel_options = {**_node(target), "socket_timeout": CONNECT_TIMEOUT_S, **sentinel_login}
    sentinel = _Sentinel(target.hosts, sentinel_kwargs=sentinel_options)  # type: ignore[no-untyped-call]
    client: Redis = sentinel.master_for(
        target.service,
        connection_pool_class=_SentinelPool,
        db=target.db,
        retry=Retry(NoBackoff(), 0),
        **login,
        **_socket(target),
    )
    return client
