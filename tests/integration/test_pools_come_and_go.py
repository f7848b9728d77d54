"""A pool that is added, taken out and put back, while workers with either pools file run side by side."""

import asyncio
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from tests.integration.support.crashes import kill_and_forget
from tests.integration.support.events import match
from tests.integration.support.promises import read_answers, repeats_are_identical, streams_are_whole
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import until_answered, until_published, wait_answered
from tests.integration.support.site import Site
from tests.servers.redis import RedisServer, start_redis
from worker.cli.main import app
from worker.cli.simulation.sending import now_ms
from worker.files import packaged
from worker.tables.tables import UNPOOLED

POOL, OTHER = "gammon42", "blitzgammon"


@pytest.fixture
def without(tmp_path: Path) -> str:
    """A pools file that has the other pool and not this one."""
    tables = packaged("deploy/pools.toml").read_text(encoding="utf-8").split("\n[pools.")
    path = tmp_path / "pools.toml"
    path.write_text("\n[pools.".join(table for table in tables if not table.startswith(f"{POOL}]")), encoding="utf-8")
    return str(path)


def play(site: Site, name: str, count: int = 40) -> set[str]:
    """Publish matches of both pools, and return the ids of this one's."""
    at_ms, numbers = now_ms(), range(count)
    ids = {pool: [f"{pool}-{name}-{number}" for number in numbers] for pool in (POOL, OTHER)}
    records = [
        match(match_id, f"p{number % 7}", f"q{number % 5}", pool=pool, finished_at_ms=at_ms)
        for pool, of_pool in ids.items()
        for number, match_id in enumerate(of_pool)
    ]
    asyncio.run(publish(site, records, by_key(4)))
    return set(ids[POOL])


def rated_and_refused(site: Site) -> tuple[set[str], set[str]]:
    """Return which matches of the pool were rated and which were dead letters, after a look at all streams."""
    answers = read_answers(site)
    repeats_are_identical(answers)
    streams_are_whole(answers)
    changed = [change.value for change in answers.changes]
    rated = {value["cause"]["match_id"] for value in changed if value["pool"] == POOL}
    assert {dict(letter.headers)["dlt-reason"] for letter in answers.letters} <= {b"unknown-pool"}
    return rated, {orjson.loads(letter.value)["match_id"] for letter in answers.letters}


def test_a_pool_that_one_worker_has_more_than_the_others_goes_on_when_those_have_ended(
    site: Site, without: str
) -> None:
    site.apply_topics(4)
    others = site.start_workers(2, pools_file=without)
    before = play(site, "before")
    asyncio.run(until_published(site, 80))
    added, *_ = site.start_workers(1)
    play(site, "beside")
    asyncio.run(until_published(site, 160))
    assert [worker.terminate() for worker in others] == [0, 0]
    after = play(site, "after")
    wait_answered(site)
    assert added.terminate() == 0, added.output
    fresh, *_ = site.start_workers(1)
    at_last = play(site, "at-last")
    wait_answered(site)
    rated, refused = rated_and_refused(site)
    assert before <= refused
    assert after | at_last <= rated
    assert fresh.terminate() == 0


def test_a_pool_that_was_out_of_the_file_for_a_while_goes_on_where_it_was(site: Site, without: str) -> None:
    site.apply_topics(4)
    ids = {}
    for name, variables in (("in", {}), ("out", {"pools_file": without}), ("back", {})):
        worker, *_ = site.start_workers(1, **variables)
        ids[name] = play(site, name)
        asyncio.run(until_published(site, {"in": 160, "out": 240, "back": 400}[name]))
        assert worker.terminate() == 0, worker.output
    assert rated_and_refused(site) == (ids["in"] | ids["back"], ids["out"])
    for arguments in ((POOL,), (POOL, "--from-topics")):
        audited = CliRunner().invoke(app, ["audit", *arguments], env=site.environment())
        assert audited.exit_code == 0, audited.output
    assert f"{len(ids['out'])} refused: unknown-pool" in audited.output


@pytest.mark.real_redis
def test_what_was_committed_before_a_pool_was_taken_out_is_published_when_it_is_back(
    site: Site, without: str, tmp_path: Path
) -> None:
    own_redis = start_redis(tmp_path / "redis")
    try:
        _take_out_in_the_middle(site.on_redis(own_redis.url, batch_max="50"), own_redis, without)
    finally:
        own_redis.kill()


def _take_out_in_the_middle(site: Site, own_redis: RedisServer, without: str) -> None:
    site.apply_topics(4)
    worker, *_ = site.start_workers(1)
    play(site, "in", 2_000)
    asyncio.run(until_published(site, 500))
    own_redis.pause()
    worker.kill()
    own_redis.resume()
    left = kill_and_forget(site, worker)
    ignorant, *_ = site.start_workers(1, pools_file=without)
    play(site, "out")
    asyncio.run(until_answered(site, of_pools=(OTHER, UNPOOLED)))
    assert ignorant.terminate() == 0, ignorant.output
    knowing, *_ = site.start_workers(1)
    play(site, "back")
    wait_answered(site)
    assert knowing.terminate() == 0, knowing.output
    assert left > 0
    rated_and_refused(site)
