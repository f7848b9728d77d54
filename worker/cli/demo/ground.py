"""Where a demo takes place: servers, topics and tables of its own, and all of it gone afterwards."""

import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from worker.cli.demo.embedded import Embedded, NotInstalledError, start_embedded
from worker.cli.demo.process import free_ports
from worker.files import packaged
from worker.settings import PREFIX, Settings, load_settings
from worker.stream.topic_admin import apply, topic_admin
from worker.stream.topics import parse_topics, with_overrides
from worker.tables.connect import connect

_MOST_REPLICAS = 3


class Ground(NamedTuple):
    """A place for one demo. `environment` makes any command of ours work there; `directory` is for its files."""

    settings: Settings
    environment: Mapping[str, str]
    directory: Path
    embedded: Embedded | None


@contextmanager
def open_ground(kafka: str | None, redis: str | None, *, keep: bool) -> Iterator[Ground]:
    """Give a place with the servers that are named, and the embedded one for those that are not.

    Its directory is removed afterwards unless `keep` or an error says that somebody may want to look at it.
    Raises SettingsError for an address that is none, NotInstalledError without the embedded server where it is needed,
    ServerFailedError where it does not start.
    """
    directory = Path(tempfile.mkdtemp(prefix="gammon-ratings-demo-"))
    embedded = None
    try:
        if kafka is None or redis is None:
            embedded = start_embedded(directory / "embedded")
        environment = _environment(kafka, redis, embedded)
        with _environment_of(environment):
            settings = load_settings()
        yield Ground(settings, environment, directory, embedded)
    except NotInstalledError:
        raise
    except Exception:
        keep = True
        raise
    finally:
        if embedded is not None:
            embedded.kill()
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def _environment(kafka: str | None, redis: str | None, embedded: Embedded | None) -> dict[str, str]:
    """Return what to set over the environment: how to reach named servers is left as it is, all else is the demo's."""
    kept = [f"{PREFIX}{part}_" for part, named in (("KAFKA", kafka), ("REDIS", redis)) if named is not None]
    variables = [name for name in os.environ if name.upper().startswith(PREFIX)]
    cleared = {name: "" for name in variables if not name.upper().startswith(tuple(kept))}
    name = f"demo-{secrets.token_hex(3)}"
    servers = {"KAFKA_BOOTSTRAP": kafka, "REDIS_URL": redis}
    if embedded is not None:
        servers = {"KAFKA_BOOTSTRAP": kafka or embedded.bootstrap, "REDIS_URL": redis or embedded.url}
    own = {
        **servers,
        "REDIS_URL_FILE": "",
        "TOPIC_PREFIX": f"{name}-",
        "REDIS_NAMESPACE": name,
        "GROUP": f"{name}-gammon-ratings",
        "WEB_HOST": "127.0.0.1",
        "WEB_PORT": str(free_ports(1)[0]),
    }
    return cleared | {PREFIX + key: value for key, value in own.items() if value is not None}


@contextmanager
def _environment_of(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@asynccontextmanager
async def own_topics(ground: Ground, *, keep: bool) -> AsyncIterator[int]:
    """Create the demo's topics and give their number; take topics and tables away again unless `keep`."""
    settings = ground.settings
    async with topic_admin(settings) as admin:
        brokers = len((await admin.describe_cluster())["brokers"])
        declared = with_overrides(
            parse_topics(packaged("deploy/kafka/topics.toml").read_text(encoding="utf-8")),
            prefix=settings.topic_prefix,
            replication=min(_MOST_REPLICAS, brokers),
        )
        await apply(admin, declared)
        try:
            yield len(declared)
        finally:
            if not keep and ground.embedded is None:
                await _take_away(admin, settings, [topic.name for topic in declared])


async def _take_away(admin: Any, settings: Settings, topics: list[str]) -> None:
    client: Any = connect(settings.redis_url.get_secret_value(), password=settings.redis_secret)
    try:
        await admin.delete_topics(topics)
        async for key in client.scan_iter(match=f"{settings.redis_namespace}:*", count=1000):
            await client.unlink(key)
    except (KafkaError, RedisError) as error:
        left = f"{settings.topic_prefix}* and the keys {settings.redis_namespace}:*"
        typer.echo(f"The topics {left} could not be removed: {error}", err=True)
    finally:
        await client.aclose()
