"""`gammon-ratings audit` of pools that real workers rate: nothing is wrong while they are right, not even meanwhile."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from redis import Redis
from typer.testing import CliRunner, Result

from tests.integration.support.publishing import Sent, analyses_elsewhere, by_key, publish
from tests.integration.support.reading import changes_published, pools, until_published, wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site
from tests.servers.process import free_ports
from worker.cli.audit import reading
from worker.cli.main import app
from worker.tables.packing import pack_row, unpack_row

POOLS = tuple(pools())
MIXED = {"prizes": 0.05, "links": 0.05}


def audit(site: Site, *arguments: str, **variables: str) -> Result:
    environment = {**site.environment(), **{f"RATINGS_{name.upper()}": value for name, value in variables.items()}}
    return CliRunner().invoke(app, ["audit", *arguments], env=environment)


def found(site: Site, *arguments: str, **variables: str) -> dict[str, Any]:
    """Return what an audit that finds nothing wrong says, as JSON."""
    result = audit(site, *arguments, "--json", **variables)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["difference"] is None
    return document


def with_redis(site: Site, falsify: Callable[["Redis"], object]) -> None:
    with Redis.from_url(site.redis_url) as client:
        falsify(client)


def test_a_mixed_season_of_two_workers_is_right_and_a_falsified_row_is_named(site: Site) -> None:
    site.apply_topics(8)
    site.start_workers(2)
    sent = asyncio.run(publish(site, records(6_000, seed=5, **MIXED), analyses_elsewhere(8)))
    wait_answered(site)
    closed = f"redis://127.0.0.1:{free_ports(1)[0]}/0"
    for pool in POOLS:
        whole, outside = found(site, pool), found(site, pool, "--from-topics", redis_url=closed)
        assert whole["in_flight"] == 0
        assert {name: whole[name] for name in ("matches", "changes", "players", "positions")} == {
            name: outside[name] for name in ("matches", "changes", "players", "positions")
        }
        assert outside["inputs"]["match-finished"]["rated"] == whole["matches"] > 1000
        answered = sum(sum(fates.values()) for fates in outside["inputs"].values())
        assert answered == _of_pool(sent, pool)
        assert "not yet answered" not in json.dumps(outside)
    assert found(site, "gammon42", "--from-topics")["inputs"]["tournament-prize-awarded"]["awarded"] > 10
    assert found(site, "season0", "--from-topics")["inputs"]["identity-linked"]["linked"] > 10

    names = _falsify_a_row(site, "blitzgammon")
    result = audit(site, "blitzgammon")
    assert result.exit_code == 1
    assert result.stderr == f"{names}\n"
    assert audit(site, "blitzgammon", "--from-topics").exit_code == 0
    assert audit(site, "nardeon").exit_code == 0


def _of_pool(sent: list[Sent], pool: str) -> int:
    """Return how many records name a pool in a JSON object."""
    count = 0
    for item in sent:
        try:
            value = json.loads(item.record.value or b"")
        except ValueError:
            continue
        count += isinstance(value, dict) and value.get("pool") == pool and _is_json(item.record.value)
    return count


def _is_json(value: bytes | None) -> bool:
    return value is not None and b"NaN" not in value and not value.startswith(b"\xef\xbb\xbf")


def _falsify_a_row(site: Site, pool: str) -> str:
    """Give one player a point more, and return what an audit must say of it."""
    key = f"{site.namespace}:{{{pool}}}:players"
    with Redis.from_url(site.redis_url) as client:
        rows: Any = client.hgetall(key)
        player_id, packed = min(rows.items())
        row = unpack_row(packed)
        client.hset(key, player_id, pack_row(replace(row, rating=row.rating + 1)))
    return f"{player_id.decode()}: rating must be {row.rating}, but the row says {row.rating + 1}."


def test_workers_at_work_raise_no_false_alarm(site: Site) -> None:
    site.apply_topics(8)
    site.start_workers(2, batch_max="50")
    season = records(12_000, seed=6, conflict=0, **MIXED)
    publishing = threading.Thread(target=lambda: asyncio.run(publish(site, season, by_key(8))))
    publishing.start()
    try:
        asyncio.run(until_published(site, 1000))
        seen = changes_published(site)
        audited = [found(site, pool, *flags) for pool in POOLS for flags in ((), ("--from-topics",))]
        assert changes_published(site) > seen + 1000, "the workers were done too early"
    finally:
        publishing.join()
    wait_answered(site)
    again = [found(site, pool, *flags) for pool in POOLS for flags in ((), ("--from-topics",))]
    assert all(before["positions"] <= after["positions"] for before, after in zip(audited, again, strict=True))
    assert audited[0]["positions"] < again[0]["positions"]


def test_what_dead_workers_left_in_the_outbox_is_in_flight(site: Site) -> None:
    site.apply_topics(8)
    workers = site.start_workers(2)
    asyncio.run(publish(site, records(4_000, seed=7, conflict=0, **MIXED), by_key(8)))
    asyncio.run(until_published(site, 2000))
    for worker in workers:
        worker.kill()
    for pool in POOLS:
        found(site, pool)


def test_writes_that_redis_lost_are_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.5)
    site.apply_topics(4)
    workers = site.start_workers(1)
    asyncio.run(publish(site, records(400, seed=8), by_key(4)))
    wait_answered(site)
    assert workers[0].terminate() == 0
    position = f"{site.namespace}:{{nardeon}}:position"
    last = found(site, "nardeon")["positions"]
    with_redis(site, lambda client: client.decr(position))
    assert audit(site, "nardeon").stderr == (
        f"Position {last} was published, but Redis stands at position {last - 1}: it has lost writes.\n"
    )
    with_redis(site, lambda client: client.incrby(position, 2))
    assert audit(site, "nardeon").stderr == (
        f"Position {last + 1} has no event, but Redis stands at position {last + 1}.\n"
    )
