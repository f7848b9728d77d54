"""Pruning: exactly what is from before the horizon goes, at a cost that what stays does not show in."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.contract.stores import WINDOW_MS, Desk, Store
from tests.ratings.ladder import AT, HOUR, MINUTE, POOLS, analyzed, finished
from worker.ratings.analysis import records_kept_ms
from worker.ratings.outcome import Outcome
from worker.tables import redis as redis_tables

FAR = AT + 100 * WINDOW_MS
STAYS = {"players", "leaderboard", "position", "horizon", "outbox", "heads"}
INSTANTS = st.builds(
    lambda hours, ms: AT + hours * HOUR + ms,
    st.sampled_from([0, 1, 2, 167, 168, 169, 336]),
    st.sampled_from([-1, 0, 1, 30 * MINUTE]),
)
PAIRS = st.sampled_from([("ann", "bob"), ("bob", "ann"), ("ann", "cem"), ("dot", "w1")])
MATCH_IDS = st.sampled_from([f"m-{number}" for number in range(8)])


@st.composite
def matches(draw: st.DrawFn, pool: str) -> Any:
    mode = draw(st.sampled_from([None, None, None, "casual"]))
    other = {} if mode is None else {"mode": mode}
    at, match_id = draw(INSTANTS), draw(MATCH_IDS)
    # Windows know a game by its match_id: one used again after its record went would move the old game.
    return finished(pool, match_id if pool == "blitzgammon" else f"{match_id} {at}", *draw(PAIRS), at=at, **other)


@st.composite
def analyses(draw: st.DrawFn) -> Any:
    revision = draw(st.integers(1, 12))
    return analyzed("blitzgammon", draw(MATCH_IDS), (4.0, 9.0), revision, players=draw(PAIRS), at=draw(INSTANTS))


def steps(events: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    """Return what happens one after the other; one `step` of pruning may be all that is done between others."""
    return st.lists(
        st.one_of(
            st.tuples(st.just("send"), st.lists(events, min_size=1, max_size=6)),
            st.tuples(st.just("raise"), INSTANTS),
            st.tuples(st.sampled_from(["step", "both", "prune"]), st.none()),
        ),
        max_size=25,
    )


@dataclass
class Kept:
    """What must be there: the instants of records and parked analyses, and the window entries."""

    records_kept_ms: int
    horizon_ms: int = 0
    records: dict[str, int] = field(default_factory=dict)
    parked: dict[str, int] = field(default_factory=dict)
    games: list[tuple[str, int]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        if outcome.record is not None:
            self.records[outcome.match_id] = outcome.record.record.content.finished_at_ms
        if outcome.parked is not None and outcome.parked.parked is not None:
            newest = max(analysis.analyzed_at_ms for analysis in outcome.parked.parked.analyses)
            self.parked[outcome.match_id] = newest
        elif outcome.parked is not None:
            self.parked.pop(outcome.match_id, None)
        self.games += [(entry.player_id, entry.finished_at_ms) for entry in outcome.windows]

    def prune(self) -> None:
        oldest_ms = self.horizon_ms - self.records_kept_ms
        self.records = {name: at for name, at in self.records.items() if at >= oldest_ms}
        self.parked = {name: at for name, at in self.parked.items() if at >= self.horizon_ms}
        self.games = [game for game in self.games if game[1] >= self.horizon_ms - WINDOW_MS]


class History:
    """Plays steps on both workers of a store, and looks that what is kept is what must be."""

    def __init__(self, here: Desk, there: Desk) -> None:
        self.here, self.there = here, there
        self.kept = Kept(records_kept_ms(POOLS[here.pool].rules))
        self.seen: set[tuple[str, int]] = set()
        self.match_ids: dict[str, None] = {}

    async def play(self, happens: list[tuple[str, Any]]) -> None:
        for what, given_ in happens:
            if what == "send":
                await self.send(given_)
            elif what == "raise":
                self.kept.horizon_ms = await self.there.tables.raise_horizon(given_)
            elif what == "step":
                await self.here.tables.prune(WINDOW_MS)
            elif what == "both":
                await asyncio.gather(self.here.tables.prune(WINDOW_MS), self.there.tables.prune(WINDOW_MS))
            else:
                await self.prune()
        await self.prune()

    async def send(self, events: list[Any]) -> None:
        for event in events:  # one by one, so that what an earlier one parks is in what the next replaces
            [outcome] = await self.here.send(event)
            self.kept.add(outcome)
            self.match_ids[event.match_id] = None
        self.seen |= set(self.kept.games)

    async def prune(self) -> None:
        await asyncio.gather(self.here.prune(), self.there.prune())
        self.kept.prune()
        # Games of the one millisecond before: those that ended at the instant itself.
        at = {(player, instant): (player, instant + 1, "") for player, instant in self.seen}
        players = ["ann", "bob", "cem", "dot", "w1"]
        loaded = await self.here.load(
            players=players, match_ids=list(self.match_ids), games=list(at.values()), window_ms=1
        )
        assert loaded.records.keys() == self.kept.records.keys()
        assert loaded.parked.keys() == self.kept.parked.keys()
        assert {game: loaded.games[query] for game, query in at.items()} == {
            game: self.kept.games.count(game) for game in at
        }


def left(url: str, namespace: str) -> set[str]:
    """Return the keys that a namespace has, without it and the pool."""
    with redis.Redis.from_url(url) as client:
        return {key.decode().split(":", 2)[2] for key in client.scan_iter(f"{namespace}:*", count=1_000)}


@pytest.fixture(params=["memory", "redis"], scope="module")
def url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "memory" else request.getfixturevalue("redis_server").url


def keeps_exactly_what_it_must(url: str | None, pool: str, happens: list[tuple[str, Any]]) -> None:
    store = Store(url, f"t{secrets.token_hex(6)}")

    async def body(here: Desk, there: Desk) -> None:
        history = History(here, there)
        await history.play(happens)
        await history.play([("raise", FAR)])
        assert (history.kept.records, history.kept.parked, history.kept.games) == ({}, {}, [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis_tables, "PRUNED_AT_ONCE", 3)
        store.run(body, pool)
    if url is not None:
        assert left(url, store.namespace) <= STAYS


RULES = settings(max_examples=60)


def game(match_id: str, at: int) -> Any:
    return finished("gammon42", match_id, "ann", "bob", at=at)


@given(steps(matches("gammon42")))
@example([("send", [game("m-0", AT), game("m-1", AT + 1)]), ("raise", AT + 1), ("prune", None), ("raise", AT + 2)])
@example(
    # The first game of the window is late: it comes when a newer one has its record pruned and waits for its own end.
    [
        ("send", [game("m-0", AT + 2 * HOUR)]),
        ("raise", AT + 2 * HOUR),
        ("send", [game("m-1", AT + 2 * HOUR + 1)]),
        ("raise", AT + 168 * HOUR),
        ("prune", None),
        ("raise", AT + 170 * HOUR),
        ("prune", None),
        ("raise", AT + 170 * HOUR + 1),
    ]
)
@RULES
def test_leaves_exactly_the_records_and_games_from_the_horizon_on(url, happens):
    keeps_exactly_what_it_must(url, "gammon42", happens)


@given(steps(st.one_of(analyses(), analyses(), matches("blitzgammon"))))
@example(
    # What was the newest is pushed out: what is left is older than where it had been noted.
    [
        ("send", [analyzed("blitzgammon", "m-0", (1.0, 2.0), 1, at=AT + 336 * HOUR)]),
        ("send", [analyzed("blitzgammon", "m-0", (1.0, 2.0), 2 + n, at=AT + n) for n in range(8)]),
        ("raise", AT + 4),
        ("prune", None),
        ("raise", AT + 8),
    ]
)
@RULES
def test_leaves_exactly_the_analyses_that_wait_from_the_horizon_on(url, happens):
    keeps_exactly_what_it_must(url, "blitzgammon", happens)


def test_two_workers_at_once_remove_each_thing_once(url, namespace, monkeypatch):
    monkeypatch.setattr(redis_tables, "PRUNED_AT_ONCE", 5)

    async def body(here: Desk, there: Desk) -> None:
        await here.send(*(finished("gammon42", f"m-{n}", "ann", f"l-{n % 3}", at=AT + n) for n in range(23)))
        await here.tables.raise_horizon(FAR)
        both = await asyncio.gather(here.prune(), there.prune())
        assert [sum(kind) for kind in zip(*both, strict=True)] == [0, 23, 0, 46]

    Store(url, namespace).run(body, "gammon42")


def commands(client: "redis.Redis") -> Mapping[str, int]:
    """Return how often each command was called, also by scripts."""
    found: Any = client.info("commandstats")
    return {name: stats["calls"] for name, stats in found.items() if name not in {"cmdstat_info", "cmdstat_scan"}}


def cost(url: str, namespace: str, stay: int, horizons: list[int]) -> list[dict[str, int]]:
    """Return what Redis does to prune 40 records and then all of their games, where others stay."""
    found = []

    async def body(here: Desk, there: Desk) -> None:
        await here.send(*(finished("gammon42", f"m-{n}", f"w-{n}", f"l-{n}", at=AT + n) for n in range(40)))
        for first in range(0, stay, 500):
            await here.send(
                *(
                    finished("gammon42", f"s-{n}", f"v-{n}", f"k-{n}", at=FAR + n * MINUTE)
                    for n in range(first, first + 500)
                )
            )
        for horizon_ms in horizons:
            await here.tables.raise_horizon(horizon_ms)
            with redis.Redis.from_url(url) as client:
                before = commands(client)
                await there.prune()
                found.append({name: calls - before.get(name, 0) for name, calls in commands(client).items()})

    Store(url, namespace).run(body, "gammon42")
    return [{name: calls for name, calls in each.items() if calls} for each in found]


def test_costs_the_same_however_much_stays(redis_server, namespace):
    horizons = [AT + 30, AT + 40, AT + 40 + WINDOW_MS]
    cost(redis_server.url, f"{namespace}-first", 0, horizons)  # a new Redis has to be sent the scripts
    few = cost(redis_server.url, f"{namespace}-few", 0, horizons)
    assert cost(redis_server.url, f"{namespace}-many", 3_000, horizons) == few
    # All 40 are looked at when their hour is opened, and the 10 that had to wait once more.
    assert [each.get("cmdstat_hget", 0) for each in few] == [40, 10, 0]


def test_costs_nothing_while_nothing_falls_due(redis_server, namespace):
    _, again, later = cost(redis_server.url, namespace, 0, [AT + 30, AT + 30, AT + 30])
    assert again == later
    assert again.keys() == {"cmdstat_get", "cmdstat_zrangebyscore"}


def test_no_step_holds_redis_up_for_long(redis_server, namespace, monkeypatch):
    monkeypatch.setattr(redis_tables, "PRUNED_AT_ONCE", 5)

    async def body(here: Desk, there: Desk) -> None:
        await here.send(*(finished("gammon42", f"m-{n}", "ann", f"l-{n % 3}", at=AT + n) for n in range(23)))
        await here.tables.raise_horizon(FAR)
        found = [await there.tables.prune(WINDOW_MS)]
        while found[-1].more:
            found.append(await there.tables.prune(WINDOW_MS))
        assert max(max(step[1:]) for step in found) == 5
        assert [sum(kind) for kind in zip(*(step[1:] for step in found), strict=True)] == [23, 0, 46]

    Store(redis_server.url, namespace).run(body, "gammon42")
    assert left(redis_server.url, namespace) == STAYS
