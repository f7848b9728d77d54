"""Several writers on the same few players at once: no update is lost, and every player's stream stays in order."""

import asyncio
import multiprocessing
import random
from collections.abc import Sequence

import orjson
import pytest
from msgspec.structs import replace

from tests.integration.writing.history import check_chains, check_replay, check_tables, first_occurrences
from tests.integration.writing.traffic import Log, decoded, traffic
from tests.integration.writing.writers import Broker, DiedError, Unsure, Writer
from tests.ratings.ladder import POOLS, Ladder, analyzed, finished
from tests.servers.process import PATIENCE_S
from worker.ratings.delivery import Source
from worker.ratings.outcome import Kind
from worker.tables.connect import connect
from worker.tables.redis import RedisTables
from worker.tables.tables import Partition, Wanted


def shares(log: Log, writers: int) -> list[Log]:
    """Return which partitions each writer has: all of one number, as an assignor would give them."""
    return [
        {name: records for name, records in log.items() if name.number % writers == number} for number in range(writers)
    ]


async def write(
    url: str, namespace: str, pool: str, log: Log, run: str, seed: int, dies: float = 0, loses: float = 0
) -> int:
    """Be one writer until its partitions are done, beginning anew under another run's name whenever it dies.

    Return how many decisions were stale.
    """
    client = connect(url)
    chance, lives, conflicts = random.Random(seed), 0, 0
    try:
        while True:
            tables = RedisTables(client, namespace, pool, f"{run}.{lives}")
            broker = Broker(client, f"{namespace}:broker")
            writer = Writer(pool, Unsure(tables, chance, loses), broker, chance, dies=dies)
            try:
                await writer.work(log)
            except DiedError:
                lives += 1
                continue
            finally:
                conflicts += writer.conflicts
            return conflicts
    finally:
        await client.aclose()


async def audit(url: str, namespace: str, pool: str, log: Log) -> int:
    """Check everything that can be told from outside; return how many changes there were."""
    client = connect(url)
    tables = RedisTables(client, namespace, pool, "audit")
    changes = first_occurrences(await Broker(client, f"{namespace}:broker").published("rating-changed"))
    newest = check_chains(changes, POOLS[pool].rules.starting_rating)
    await check_tables(tables, newest, log)
    await check_replay(tables, changes, log, pool)
    await client.aclose()
    return len(changes)


@pytest.mark.parametrize(
    ("writers", "pool", "matches", "dies", "loses"),
    [
        pytest.param(2, "blitzgammon", 2_000, 0, 0, id="two", marks=pytest.mark.real_redis),
        pytest.param(3, "blitzgammon", 2_000, 0, 0, id="three", marks=pytest.mark.real_redis),
        pytest.param(3, "gammon42", 2_000, 0, 0, id="three with windows and prizes", marks=pytest.mark.real_redis),
        pytest.param(2, "season0", 2_000, 0, 0, id="two with links", marks=pytest.mark.real_redis),
        pytest.param(3, "season0", 2_000, 0, 0, id="three with links", marks=pytest.mark.real_redis),
        pytest.param(3, "blitzgammon", 1_000, 0.02, 0, id="three that die and begin again"),
        pytest.param(3, "blitzgammon", 1_000, 0.01, 0.05, id="three that now and then do not hear of their commit"),
        pytest.param(3, "gammon42", 500, 0.01, 0.05, id="three with prizes that die and do not hear"),
        pytest.param(3, "season0", 500, 0.01, 0.05, id="three with links that die and do not hear"),
    ],
)
def test_writers_side_by_side_write_one_legal_history(redis_server, namespace, writers, pool, matches, dies, loses):
    chance = random.Random(f"{writers} {pool} {dies}")
    log = traffic(pool, matches, chance).log(writers, chance)

    async def all_of_them() -> Sequence[int]:
        return await asyncio.gather(
            *(
                write(redis_server.url, namespace, pool, share, f"run-{number}", number, dies, loses)
                for number, share in enumerate(shares(log, writers))
            )
        )

    conflicts = asyncio.run(all_of_them())
    assert asyncio.run(audit(redis_server.url, namespace, pool, log)) > 2 * 0.9 * matches
    fewest = matches / (100 if pool == "season0" else 20)  # the many ids of links meet less often
    assert sum(conflicts) > fewest, "they hardly ever met: this test shows nothing"


def _write_alone(url: str, namespace: str, pool: str, log: Log, number: int) -> None:
    asyncio.run(write(url, namespace, pool, log, f"process-{number}", number))


@pytest.mark.real_redis
def test_writers_in_processes_of_their_own_write_one_legal_history(redis_server, namespace):
    chance, pool = random.Random(7), "blitzgammon"
    log = traffic(pool, 2_000, chance).log(2, chance)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_write_alone, args=(redis_server.url, namespace, pool, share, number))
        for number, share in enumerate(shares(log, 2))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_S)
        assert process.exitcode == 0
    assert asyncio.run(audit(redis_server.url, namespace, pool, log)) > 3_600


class TestAtTheSameMoment:
    """Two or three writers that each have one event, begun together, many times over."""

    ROUNDS = 60

    def race(self, redis_server, namespace, pool, contestants):
        """Run `contestants(number)`, a list of events, one a writer, for each round; return (log, changes, letters)."""
        log: Log = {}

        async def rounds():
            client = connect(redis_server.url)
            for number in range(self.ROUNDS):
                sources, races = [], []
                for writer, event in enumerate(contestants(number)):
                    partition = Partition("match-finished" if hasattr(event, "mode") else "match-analyzed", writer)
                    records = log.setdefault(partition, [])
                    records.append(decoded(event, Source(*partition, len(records))))
                    sources.append(partition)
                    races.append(write(redis_server.url, namespace, pool, {partition: records}, f"w-{writer}", number))
                await asyncio.gather(*races)
            broker = Broker(client, f"{namespace}:broker")
            letters = await broker.published("match-finished.dlt") + await broker.published("match-analyzed.dlt")
            tables = RedisTables(client, namespace, pool, "audit")
            changes = first_occurrences(await broker.published("rating-changed"))
            check_chains(changes, POOLS[pool].rules.starting_rating)
            await check_replay(tables, changes, log, pool)
            ids = list({record.event.match_id for records in log.values() for record in records})
            parked = (await tables.load(Wanted((), ids))).parked
            await client.aclose()
            return changes, letters, parked

        return asyncio.run(rounds())

    def test_a_match_and_its_analyses_settle_it_whatever_comes_first(self, redis_server, namespace):
        def contestants(number):
            match = finished("blitzgammon", f"m-{number}", "ann", "bob", length=1 + number % 20)
            prs = [(9.0, 4.0), (4.0, 9.0)]
            return [match, *(analyzed("blitzgammon", match.match_id, prs[r % 2], r + 1) for r in (0, 1))]

        changes, letters, parked = self.race(redis_server, namespace, "blitzgammon", contestants)
        assert letters == []
        assert parked == {}
        last = {event["cause"]["match_id"]: event for event in changes}
        assert len(last) == self.ROUNDS
        for event in last.values():
            assert (event["final"], event["details"]["revision"], event["details"]["halved"]) == (True, 2, False)

    def test_of_two_contents_of_one_match_one_is_rated_and_one_is_a_conflict(self, redis_server, namespace):
        def contestants(number):
            match = finished("blitzgammon", f"m-{number}", "ann", "bob")
            return [match, replace(match, winner=match.loser, loser=match.winner)]

        changes, letters, _ = self.race(redis_server, namespace, "blitzgammon", contestants)
        assert len(changes) == 2 * self.ROUNDS
        assert sorted(orjson.loads(value)["id"] for _, value in letters) == sorted(
            f"m-{number}" for number in range(self.ROUNDS)
        )

    def test_the_same_match_three_times_is_rated_once(self, redis_server, namespace):
        changes, letters, _ = self.race(
            redis_server, namespace, "season0", lambda number: [finished("season0", f"m-{number}", "ann", "bob")] * 3
        )
        assert (len(changes), letters) == (2 * self.ROUNDS, [])

    def test_an_excluded_match_leaves_no_analysis_behind(self, redis_server, namespace):
        def contestants(number):
            match = finished("blitzgammon", f"m-{number}", "ann", "bob", mode="casual")
            return [match, analyzed("blitzgammon", match.match_id, (9.0, 4.0))]

        assert self.race(redis_server, namespace, "blitzgammon", contestants) == ([], [], {})


PR_ONLY, PRIZES_ONLY, LINKS_ONLY = {Kind.PARKED, Kind.SETTLED, Kind.IGNORED}, {Kind.AWARDED}, {Kind.LINKED}


@pytest.mark.parametrize(
    ("pool", "others", "reasons"),
    [
        ("blitzgammon", PRIZES_ONLY | LINKS_ONLY, {"conflict", "players-mismatch"}),
        ("gammon42", PR_ONLY | LINKS_ONLY, {"conflict"}),
        ("season0", PR_ONLY | PRIZES_ONLY, {"conflict", "self-match", "already-linked"}),
    ],
)
def test_the_traffic_of_these_tests_has_everything_in_it(pool, others, reasons):
    ladder = Ladder(pool)
    outcomes = [ladder.send(event) for event in traffic(pool, 500, random.Random(1)).events]
    assert {outcome.kind for outcome in outcomes} == {*Kind} - {Kind.PUSHED_OUT} - others
    assert set(ladder.reasons()) == reasons
    assert any(event["late"] for event in ladder.values())
    links = [outcome.link for outcome in outcomes if outcome.link]
    assert {link.took_over for link in links} == ({True, False} if pool == "season0" else set())
    assert len(links) > 10 or pool != "season0"
