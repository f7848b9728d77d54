"""How a Redis, a Sentinel group or a Redis Cluster is named in one URL."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

Kind = Literal["single", "sentinel", "cluster"]

_SCHEMES: Mapping[str, tuple[Kind, bool]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_DEFAULT_PORT: Mapping[Kind, int] = {"single": 6379, "sentinel": 26379, "cluster": 6379}
_FILE_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_CHOICES: Mapping[str, Mapping[str, str | bool]] = {
    "ssl_check_hostname": {"true": True, "false": False},
    "ssl_cert_reqs": {"required": "required", "none": "none"},
}
_SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_])?")


class ConnectionUrlError(ValueError):
    """The URL names no Redis; the sentence says what to write, and quotes nothing that may be a secret."""


@dataclass(frozen=True)
class RedisTarget:
    """What a URL names. `hosts` are (host, port) of the Redis, of the sentinels, or of some of the cluster's nodes.

    `tls_options` are redis-py's `ssl_*` arguments. `db` is 0 in a cluster, `service` is empty but for Sentinel.
    """

    kind: Kind
    tls: bool
    hosts: tuple[tuple[str, int], ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    service: str = ""
    db: int = 0
    tls_options: Mapping[str, str | bool] = field(default_factory=dict)
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)


def parse_url(url: str) -> RedisTarget:
    """Return what `url` names, percent-decoded; raise ConnectionUrlError where it names nothing.

    Accepted: `redis://[user:password@]host[:port][/db]`, `redis+sentinel://[user:password@]host[:port],…/service[/db]`
    and `redis+cluster://[user:password@]host[:port],…`, each with `rediss` for TLS; then `?ssl_ca_certs=FILE`,
    `ssl_certfile`, `ssl_keyfile`, `ssl_check_hostname=false`, `ssl_cert_reqs=none`, and for Sentinel
    `sentinel_username` and `sentinel_password` where the sentinels themselves ask for a login.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ConnectionUrlError(f"the Redis URL has no scheme: write one of {_list(_SCHEMES)} and ://")
    if scheme not in _SCHEMES:
        given = f" {scheme}" if re.fullmatch(r"[a-z+]{1,20}", scheme) else ""
        raise ConnectionUrlError(f"the Redis URL's scheme{given} is none of {_list(_SCHEMES)}")
    kind, tls = _SCHEMES[scheme]
    cut = re.search(r"[/?#]", rest)
    authority, tail = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    if "@" in tail:
        raise ConnectionUrlError(
            "the Redis URL has an @ after its host: write / ? # and @ in user, password and options as %2F %3F %23 %40"
        )
    if "#" in tail:
        raise ConnectionUrlError("the Redis URL has a #, which means nothing there: write %23 if it is part of a value")
    login, _, hosts = authority.rpartition("@")
    username, password = _login(login)
    path, _, query = tail.partition("?")
    service, db = _path(kind, path.removeprefix("/"))
    options = _query(kind, tls, query)
    return RedisTarget(
        kind=kind,
        tls=tls,
        hosts=_hosts(kind, hosts),
        username=username,
        password=password,
        service=service,
        db=db,
        tls_options={name: value for name, value in options.items() if name.startswith("ssl_")},
        sentinel_username=_text(options.get("sentinel_username")),
        sentinel_password=_text(options.get("sentinel_password")),
    )


def describe(url: str) -> str:
    """Return `url` for logs: hosts, service and db, without user, password or options."""
    target = parse_url(url)
    scheme = next(name for name, value in _SCHEMES.items() if value == (target.kind, target.tls))
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in target.hosts)
    service = f"/{target.service}" if target.service else ""
    db = "" if target.kind == "cluster" else f"/{target.db}"
    return f"{scheme}://{hosts}{service}{db}"


def _login(login: str) -> tuple[str | None, str | None]:
    user, _, password = login.partition(":")
    return unquote(user) or None, unquote(password) or None


def _hosts(kind: Kind, text: str) -> tuple[tuple[str, int], ...]:
    hosts = tuple(_host(kind, part, at) for at, part in enumerate(text.split(","), start=1))
    if kind == "single" and len(hosts) > 1:
        raise ConnectionUrlError(
            "the Redis URL names several hosts: write redis+cluster:// for a cluster, redis+sentinel:// for sentinels"
        )
    return hosts


def _host(kind: Kind, text: str, at: int) -> tuple[str, int]:
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text)
    if bracketed:
        host, port = unquote(bracketed[1]), bracketed[2]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ConnectionUrlError(f"host {at} of the Redis URL has brackets, but no IPv6 address in them") from None
    else:
        host, colon, after = text.partition(":")
        port = after if colon else None
        if not _HOST.fullmatch(host):
            raise ConnectionUrlError(
                f"host {at} of the Redis URL is missing or no host name: write host:port, an IPv6 address in brackets"
            )
    if port is None:
        return host, _DEFAULT_PORT[kind]
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ConnectionUrlError(f"the port of host {at} of the Redis URL is not a number from 1 to 65535")
    return host, int(port)


def _path(kind: Kind, path: str) -> tuple[str, int]:
    if kind == "cluster":
        if path not in ("", "0"):
            raise ConnectionUrlError(
                "the Redis URL names a database, but a Redis Cluster has only database 0: leave it out"
            )
        return "", 0
    service = ""
    if kind == "sentinel":
        service, _, path = path.partition("/")
        if not service:
            raise ConnectionUrlError(
                "the Redis URL names no service: write redis+sentinel://host:port,host:port/service"
            )
    if path and not re.fullmatch(r"[0-9]{1,5}", path):
        raise ConnectionUrlError("the database of the Redis URL is not a number: write /0 at its end, or nothing")
    return unquote(service), int(path or 0)


def _query(kind: Kind, tls: bool, query: str) -> dict[str, str | bool]:
    allowed = ((*_FILE_OPTIONS, *_CHOICES) if tls else ()) + (_SENTINEL_OPTIONS if kind == "sentinel" else ())
    options: dict[str, str | bool] = {}
    for pair in filter(None, query.split("&")):
        name, _, raw = pair.partition("=")
        if name not in allowed:
            known = f"only {_list(allowed)}" if allowed else "none; TLS options need rediss://"
            raise ConnectionUrlError(f"the Redis URL has an option after its ? that is not known there: {known}")
        options[name] = _option(name, unquote(raw))
    return options


def _option(name: str, value: str) -> str | bool:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ConnectionUrlError(f"{name} in the Redis URL must be {' or '.join(_CHOICES[name])}")
        return _CHOICES[name][value]
    if name in _FILE_OPTIONS and not Path(value).is_file():
        raise ConnectionUrlError(f"{name} in the Redis URL does not name a file")
    return value


def _text(value: str | bool | None) -> str | None:
    return value if isinstance(value, str) else None


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
