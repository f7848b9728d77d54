"""What is set wrong is refused at start: exit code 2 and one sentence that names the setting."""

import asyncio
import socket
from pathlib import Path

import pytest
from redis import Redis

from tests.integration.support.site import Site, Worker
from tests.servers.redis import RedisServer
from tests.servers.topics import topics_there

WRONG_SETTING = 2


def _refuses(worker: Worker, *words: str) -> None:
    assert worker.ends_with() == WRONG_SETTING, worker.output
    assert "Traceback" not in worker.output
    sentence = worker.output.strip().splitlines()[-1]
    assert all(word in sentence for word in words), worker.output


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("kafka_bootstrap", "nowhere"),
        ("redis_url", "http://127.0.0.1"),
        ("batch_max", "0"),
        ("require_aof", "perhaps"),
        ("pools_file", "/nowhere/pools.toml"),
        ("topic_prefix", "a/b"),
    ],
)
def test_a_setting_that_cannot_be_right(site: Site, setting: str, value: str) -> None:
    _refuses(site.start_worker(**{setting: value}), f"RATINGS_{setting.upper()}")


def test_a_pools_file_that_is_wrong(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "pools.toml"
    file.write_text('[pools.gammon42]\nruleset = "gammon43"\n', encoding="utf-8")
    _refuses(site.start_worker(pools_file=str(file)), "line 2")


def test_topics_that_do_not_exist_and_are_not_created(site: Site) -> None:
    _refuses(site.start_worker(), "RATINGS_TOPIC_PREFIX", f"{site.prefix}match-finished", "topics apply")
    assert asyncio.run(topics_there(site.bootstrap, site.prefix)) == []


def test_a_port_that_is_in_use(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _refuses(site.start_worker(web_host="127.0.0.1", web_port=port), "RATINGS_WEB_PORT", port)


@pytest.mark.real_redis
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://:wrong@{host}", ("RATINGS_REDIS_PASSWORD", "refuses the login")),
        ("redis://{host}/99", ("no such database",)),
        ("redis+cluster://{host}", ("no cluster",)),
        ("redis+sentinel://{host}/ratings", ("no sentinel",)),
    ],
)
def test_a_redis_that_is_not_what_the_url_says(site: Site, url: str, words: tuple[str, ...]) -> None:
    site.apply_topics(1)
    host = site.redis_url.removeprefix("redis://").partition("/")[0]
    _refuses(site.start_worker(redis_url=url.format(host=host)), "RATINGS_REDIS_URL", host, *words)


@pytest.mark.real_redis
def test_a_redis_that_may_evict_keys(fragile: Site, own_redis: RedisServer) -> None:
    with Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    _refuses(fragile.start_worker(), "RATINGS_REDIS_URL", "allkeys-lru")


@pytest.mark.real_redis
def test_a_redis_without_an_append_only_file_where_one_is_required(fragile: Site, own_redis: RedisServer) -> None:
    with Redis.from_url(own_redis.url) as client:
        client.config_set("appendonly", "no")
        _refuses(fragile.start_worker(require_aof="1"), "RATINGS_REQUIRE_AOF", "appendonly yes")
        assert not list(client.scan_iter(f"{fragile.namespace}:*"))
