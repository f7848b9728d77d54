"""Games around a cut-over in any order of arrival, of whichever versions, through two workers on one store."""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import count
from typing import Any

import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.contract.stores import Store
from tests.integration.cut_overs import pencil
from tests.integration.writing.traffic import decoded
from tests.ratings.ladder import HOUR, finished, pool_of
from worker.ratings.delivery import Source
from worker.rules.match import MatchFinished
from worker.stream.apply import Progress, Target, apply
from worker.tables.connect import connect
from worker.tables.memory import MemoryStore, MemoryTables
from worker.tables.redis import RedisTables
from worker.tables.tables import PoolTables, Wanted

HEAVY_GAMES = 2
POOL = pool_of("gammon42", heavy_games=HEAVY_GAMES)
SETTINGS = {**pencil.DEFAULTS, "heavy_games": HEAVY_GAMES}
CUT_OVERS = {"1.2.0": 1_782_864_000_000, "1.3.1": 1_790_812_800_000}
WEEK = 168 * HOUR
EDGES = st.sampled_from([-WEEK - 1, -WEEK, 1 - WEEK, -HOUR, -1, 0, 1, HOUR, WEEK - 1, WEEK, WEEK + 1])
VERSIONS = st.sampled_from([None, None, None, "1.0.5", "1.2.0", "1.3.0", "1.3.1", "1.10.0"])
MODES = st.sampled_from(["ranked", "ranked", "ranked", "ranked", "boosted"])
IDS = [f"{letter}-{number}" for number in range(5) for letter in ("m", "\uffff", "\U0001f3b2", "é", "Z")]
"""In UTF-8 they sort as code points, which is not how UTF-16 sorts them."""

Batches = list[tuple[int, list[MatchFinished]]]
"""What one or the other of two workers takes at a time, in order."""


@st.composite
def batches(draw: st.DrawFn) -> Batches:
    cut_over = draw(st.sampled_from(sorted(CUT_OVERS.values())))
    ids = draw(st.permutations(IDS))

    def one(match_id: str) -> MatchFinished:
        winner, loser = draw(st.permutations(["ann", "bob", "cem"]))[:2]
        at, mode, version = cut_over + draw(EDGES), draw(MODES), draw(VERSIONS)
        return finished("gammon42", match_id, winner, loser, at=at, mode=mode, formula_version=version)

    games = [one(match_id) for match_id in ids[: draw(st.integers(1, len(ids)))]]
    taken: Batches = []
    while games:
        size = draw(st.integers(1, 6))
        taken.append((draw(st.sampled_from([0, 1])), games[:size]))
        games = games[size:]
        if draw(st.booleans()):  # something that was there already
            taken.append((draw(st.sampled_from([0, 1])), [draw(st.sampled_from(taken[-1][1]))]))
    return taken


def game(hours: int, match_id: str) -> MatchFinished:
    """Return a game that ended so many hours after the last cut-over."""
    return finished("gammon42", match_id, "ann", "bob", at=CUT_OVERS["1.3.1"] + hours * HOUR)


def test_windows_count_what_was_applied_and_what_is_published_stands(store: Store) -> None:
    @settings(max_examples=150)
    @given(batches())
    @example([(0, [game(-2, "a"), game(-1, "b"), game(0, "c")])])
    @example([(0, [game(-2, "a")]), (1, [game(0, "c")]), (0, [game(-1, "b"), game(1, "d")])])
    def property_holds(taken: Batches) -> None:
        asyncio.run(on_store(store, partial(hold_what_is_told_against_what_is_kept, taken)))

    property_holds()


async def hold_what_is_told_against_what_is_kept(taken: Batches, tables: tuple[PoolTables, PoolTables]) -> None:
    told = Told({game.match_id: game for _, games in taken for game in games})
    offsets = count(), count()
    for worker, games in taken:
        target = Target(POOL.name, POOL, tables[worker], "")
        records = [decoded(game, Source("match-finished", worker, next(offsets[worker]))) for game in games]
        done = await apply(target, records, Progress(0, {}))
        for message in done.messages:
            if message.topic == "rating-changed":
                told.hear(message.value or b"")
    await told.still_stands(tables[0])


class Told:
    """What was published so far, and the games of each player that it came from."""

    def __init__(self, games: Mapping[str, MatchFinished]) -> None:
        self._games = games
        self._events: dict[str, bytes] = {}
        self._played: dict[str, list[tuple[int, str]]] = defaultdict(list)

    def hear(self, event: bytes) -> None:
        """Take the next event: the repetition of one before, or one whose terms follow from those before it."""
        value = orjson.loads(event)
        if value["event_id"] in self._events:
            assert self._events[value["event_id"]] == event
            return
        self._events[value["event_id"]] = event
        game, details, played = self._games[value["cause"]["match_id"]], value["details"], self._played
        counted = pencil.games_before(played[value["player_id"]], game.finished_at_ms, game.match_id)
        version = pencil.version(SETTINGS, game.finished_at_ms, game.formula_version)
        assert version is not None
        assert details["games_in_window"] == counted
        assert (details["formula_version"], details["divisor"]) == (version, pencil.divisor(version))
        assert details["k"] == pencil.k(SETTINGS, version, counted)
        played[value["player_id"]].append((game.finished_at_ms, game.match_id))

    async def still_stands(self, tables: PoolTables) -> None:
        """See that outbox, records and rows hold what was published when each game came, and nothing else."""
        sources = [Source("match-finished", worker, offset) for worker in (0, 1) for offset in range(2 * len(IDS))]
        loaded = await tables.load(Wanted(list(self._played), list(self._games), sources))
        stored = [message for entry in loaded.outbox for message in entry.messages]
        changes = [message.value for message in stored if message.topic == "rating-changed"]
        assert set(changes) == set(self._events.values())
        assert len(changes) == len(self._events)
        last: dict[str, Any] = {}
        for event in self._events.values():
            value = orjson.loads(event)
            rated = loaded.records[value["cause"]["match_id"]].rated
            assert rated is not None
            recorded = rated.winner if value["details"]["result"] == "win" else rated.loser
            assert (recorded.before, recorded.standing) == (value["before"], value["change"])
            last[value["player_id"]] = value
        assert {name: row.rating for name, row in loaded.rows.items()} == {
            name: value["after"] for name, value in last.items()
        }


async def on_store(store: Store, body: Callable[[tuple[PoolTables, PoolTables]], Awaitable[None]]) -> None:
    """Give two workers' tables on a store that is empty."""
    if store.url is None:
        memory = MemoryStore()
        await body((MemoryTables(memory, POOL.name, "run-1"), MemoryTables(memory, POOL.name, "run-2")))
        return
    client, namespace = connect(store.url), f"{store.namespace}{secrets.token_hex(4)}"
    try:
        await body(
            (
                RedisTables(client, namespace, POOL.name, "run-1"),
                RedisTables(client, namespace, POOL.name, "run-2"),
            )
        )
    finally:
        await client.aclose()
