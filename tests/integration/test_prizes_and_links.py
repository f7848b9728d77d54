"""Prizes and links among matches, through workers that run, and through one that is killed."""

import asyncio
import random
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from tests.integration.support.crashes import kill_and_forget
from tests.integration.support.promises import read_answers
from tests.integration.support.publishing import Sent, publish
from tests.integration.support.reading import changes_published, tables, until_answered, until_published, wait_answered
from tests.integration.support.site import INPUTS, Site
from tests.integration.support.written import moved, written
from tests.integration.writing.history import check_chains, check_replay, check_tables, first_occurrences
from tests.integration.writing.traffic import Log, traffic
from tests.ratings.ladder import AT, DAY, HOUR, POOLS, awarded, finished, linked
from worker.cli.simulation.sending import now_ms
from worker.ratings.events import Event
from worker.stream.decode import Decoder
from worker.tables.tables import Partition

PARTITIONS = 2
"""Each topic's: with two workers, one has the partitions 0 and the other the partitions 1."""


class TwoWorkers:
    """Publishes one event after the other, each to the partition that one of the two workers has."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._shift_ms = now_ms() - 3 * DAY - AT
        site.apply_topics(PARTITIONS)
        site.start_workers(2)

    def through(self, worker: int, *events: Event) -> None:
        asyncio.run(self._publish(events, worker))

    async def _publish(self, events: tuple[Event, ...], worker: int) -> None:
        records = [written(moved(event, self._shift_ms)) for event in events]
        await publish(self._site, records, lambda _: worker)
        await until_answered(self._site)

    def told(self, player_id: str) -> list[tuple[Any, ...]]:
        """Return what a consumer was told of a player, in order: cause, before, change, rated games, late."""
        changes = [change.value for change in read_answers(self._site).changes]
        return [
            (one["cause"]["type"], one["before"], one["change"], one["rated_games"], one["late"])
            for one in sorted(changes, key=lambda one: one["position"])
            if one["player_id"] == player_id
        ]

    def retired(self) -> dict[str, str]:
        changes = [change.value for change in read_answers(self._site).changes]
        return {one["player_id"]: one["linked_to"] for one in changes if one.get("retired")}

    def letters(self) -> list[tuple[str, str]]:
        """Return topic and reason of every dead letter."""
        found = read_answers(self._site).letters
        return sorted(
            (letter.topic.removeprefix(self._site.prefix), dict(letter.headers)["dlt-reason"].decode())
            for letter in found
        )


@pytest.fixture
def workers(site: Site) -> TwoWorkers:
    return TwoWorkers(site)


def test_a_prize_is_paid_once_by_whichever_worker_and_a_wrong_one_comes_back(workers: TwoWorkers) -> None:
    match, at = "match-finished", AT + DAY
    prize = "tournament-prize-awarded"

    workers.through(0, finished("gammon42", "m-1", "ann", "bob"))
    workers.through(1, awarded("t-1", "ann", 50), awarded("t-1", "zoe", 25, 2))
    workers.through(0, awarded("t-1", "ann", 50), awarded("t-1", "ann", 50, at=at), awarded("t-1", "zoe", 15, 2))
    workers.through(1, awarded("t-1", "zoe", 25, 3), awarded("t-2", "ann", 15, 3))
    workers.through(0, replace(awarded("t-1", "ann"), pool="season0"), awarded("t-3", "ann", 0))
    workers.through(1, finished("gammon42", "m-2", "zoe", "bob", at=AT + HOUR))

    first = ("match-finished", 1500, 16, 1, False)
    assert workers.told("ann") == [first, (prize, 1516, 50, 1, False), (prize, 1566, 15, 1, False)]
    assert workers.told("zoe") == [(prize, 1500, 25, 0, False), (match, 1525, 15, 1, False)]
    assert workers.letters() == [
        (f"{prize}.dlt", reason) for reason in ("conflict", "conflict", "schema", "wrong-ruleset")
    ]


def test_a_linked_id_goes_on_as_its_account_whichever_worker_has_its_matches(workers: TwoWorkers) -> None:
    match, link = "match-finished", "identity-linked"

    workers.through(0, finished("season0", "m-1", "anon", "bob", at=AT + HOUR))
    workers.through(1, finished("season0", "m-2", "old", "ann"), finished("season0", "m-3", "eve", "old"))
    workers.through(1, linked("anon", "ann-2"))
    workers.through(0, linked("old", "eve"), linked("anon", "ann-2"))
    workers.through(1, linked("anon", "eve"), linked("ann-2", "zoe"), linked("cem", "old"), linked("cem", "cem"))
    workers.through(0, replace(linked("cem", "dee"), pool="gammon42"), finished("season0", "m-4", "ann-2", "anon"))
    workers.through(1, finished("season0", "m-5", "anon", "bob", at=AT + 2 * HOUR))
    workers.through(
        0, finished("season0", "m-6", "bob", "anon"), finished("season0", "m-1", "anon", "bob", at=AT + HOUR)
    )

    assert workers.told("anon") == [(match, 1200, 8, 1, False), (link, 1208, 0, 1, False)]
    assert workers.told("ann-2") == [
        (link, 1200, 8, 1, False),
        (match, 1208, 8, 2, False),
        (match, 1216, -9, 3, True),
    ]
    assert [one[:2] for one in workers.told("eve")] == [(match, 1200), (link, 1208)]
    assert workers.told("eve")[-1] == (link, 1208, 0, 1, False)
    assert workers.told("old")[-1] == (link, 1200, 0, 2, False)
    assert workers.retired() == {"anon": "ann-2", "old": "eve"}
    assert workers.letters() == [
        ("identity-linked.dlt", "already-linked"),
        ("identity-linked.dlt", "already-linked"),
        ("identity-linked.dlt", "already-linked"),
        ("identity-linked.dlt", "self-match"),
        ("identity-linked.dlt", "wrong-ruleset"),
        ("match-finished.dlt", "self-match"),
    ]


MATCHES, STEP, KILLS = 600, 300, 2


def test_prizes_and_links_among_matches_equal_a_replay_whoever_was_killed_in_mid_run(site: Site) -> None:
    site.apply_topics(4)
    chance, shift_ms = random.Random(4), now_ms() - 3 * DAY - AT
    events = [event for pool in ("gammon42", "season0") for event in traffic(pool, MATCHES, chance).events]
    records = [written(moved(event, shift_ms)) for event in events]
    sent = asyncio.run(publish(site, records, lambda _: chance.randrange(4)))
    worker = site.start_worker(batch_max="100")
    left_behind = []
    for _ in range(KILLS):
        asyncio.run(until_published(site, changes_published(site) + STEP))
        left_behind.append(kill_and_forget(site, worker))
        worker.start_again()
    other = site.start_worker(batch_max="100")
    wait_answered(site)
    assert max(left_behind) > 0
    check(site, sent, "gammon42", {"match-finished", "tournament-prize-awarded"})
    check(site, sent, "season0", {"match-finished", "identity-linked"})
    assert [one.terminate() for one in (worker, other)] == [0, 0]


def check(site: Site, sent: list[Sent], pool: str, causes: set[str]) -> None:
    """See that what was published of a pool is a legal history of what was sent, and that its tables end with it."""
    told = [change.record for change in read_answers(site).changes if change.value["pool"] == pool]
    changes = first_occurrences([(record.key, record.value) for record in told])
    newest = check_chains(changes, POOLS[pool].rules.starting_rating)
    assert {change["cause"]["type"] for change in changes} == causes
    asyncio.run(_check_tables(site, newest, changes, _log(site, sent, pool), pool))


async def _check_tables(site: Site, newest: dict[str, Any], changes: list[Any], log: Log, pool: str) -> None:
    async with tables(site, pool) as of_pool:
        await check_tables(of_pool[pool], newest, log)
        await check_replay(of_pool[pool], changes, log, pool)


def _log(site: Site, sent: list[Sent], pool: str) -> Log:
    """Return what stands in the topics, as far as it is about one pool."""
    decoders = {site.topic(name): Decoder(name, POOLS) for name in INPUTS}
    log: Log = {}
    for one in sorted(sent, key=lambda one: one.source.offset):
        source = one.source
        records = log.setdefault(Partition(source.topic, source.partition), [])
        assert source.offset == len(records)
        decoded = decoders[source.topic].decode(one.delivery)
        assert decoded.refusal is None, orjson.loads(one.record.value or b"")
        records.append(decoded if decoded.pool == pool else replace(decoded, event=None))
    return log
