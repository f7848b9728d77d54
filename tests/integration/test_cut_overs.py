"""A season of gammon42 that crosses 1.0.5, 1.2.0 and 1.3.1, checked game by game against published numbers."""

import asyncio
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.integration.cut_overs import pencil
from tests.integration.cut_overs.season import (
    LAST_CUT_OVER,
    NAMES,
    POOLS_FILE,
    SEASON_POOLS,
    Game,
    Side,
    events,
    games,
    ms,
    rated,
    record,
)
from tests.integration.support.promises import (
    everything_is_answered,
    letters_are_whole,
    positions_are_whole,
    read_answers,
    repeats_are_identical,
    streams_are_whole,
)
from tests.integration.support.publishing import Sent, by_key, publish
from tests.integration.support.reading import wait_answered
from tests.integration.support.site import Site
from tests.integration.support.stored import Held, in_memory, in_redis
from tests.rules.examples import Row, rows
from worker.ratings.delivery import Delivery, Source
from worker.ratings.wire import Message
from worker.rules.pools import Pool, parse_pools
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoder
from worker.tables.memory import MemoryStore, MemoryTables

TABLES = {name: games(name) for name in NAMES}
POOLS = parse_pools(POOLS_FILE)
VECTORS = [
    row for row in rows("stated") + rows("decided") if row["system"] == "gammon42" and row.get("kind") != "constant"
]
UNPUBLISHED = "unpublished-formula"
PARTITIONS = 8


class TestTheTables:
    """The tables themselves, without the worker."""

    @pytest.mark.parametrize("name", NAMES)
    def test_follow_from_the_rule_with_pencil_and_paper(self, name: str) -> None:
        pool = {**pencil.DEFAULTS, **tomllib.loads(SEASON_POOLS)["pools"].get(name, {})}
        ratings: dict[str, int] = defaultdict(lambda: pool["starting_rating"])
        played: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for game in TABLES[name]:
            version = pencil.version(pool, game.finished_at_ms, game.sent.get("formula_version"))
            if game.answer != "rated":
                assert (version is None) or (game.answer != UNPUBLISHED), game
                continue
            assert version is not None and game.cube is not None, game
            divisor, coefficient = pencil.divisor(version), pencil.COEFFICIENTS[game.cube]
            assert (game.version, game.divisor, game.coefficient) == (version, divisor, coefficient), game
            before = ratings[game.players[0]], ratings[game.players[1]]
            for sign, player, side, rating in zip((1, -1), game.players, game.sides, before, strict=True):
                count = pencil.games_before(played[player], game.finished_at_ms, game.match_id)
                k = pencil.k(pool, version, count)
                change = sign * pencil.points(k, *before, divisor, game.cube)
                late = any(at > game.finished_at_ms for at, _ in played[player])
                assert side == Side(player, rating, change, rating + change, k, count, late), game
                ratings[player] = rating + change
                played[player].append((game.finished_at_ms, game.match_id))

    def test_stand_in_the_order_of_arrival(self) -> None:
        for table in TABLES.values():
            written = [game.written_ms for game in table]
            assert written == sorted(written)

    def test_have_what_makes_a_cut_over_hard(self) -> None:
        table = TABLES["gammon42"]
        sides = [(game, side) for game in rated(table) for side in game.sides]
        by_date = [(game, side) for game, side in sides if "formula_version" not in game.sent]
        assert {game.version for game, _ in by_date} == {"1.0.5", "1.2.0", "1.3.1"}
        assert {game.answer for game in table if game.sent.get("formula_version") == "1.0.4"} == {
            UNPUBLISHED,
            "tournament",
            "computer",
        }
        at_last_cut_over = [game for game in table if game.finished_at.startswith("2026-10-01T00:00:00.00")]
        firsts = {side.games: side.k for game in at_last_cut_over for side in game.sides if side.games > 1}
        assert firsts == {49: 32, 50: 16, 52: 16}
        assert max(side.games for game, side in by_date if game.version == "1.2.0") >= 50
        for cut_over in ("2026-07-01T00:00:00Z", "2026-10-01T00:00:00Z"):
            late = [game for game, side in by_date if side.late and game.finished_at_ms < ms(cut_over)]
            assert any(game.written_ms > ms(cut_over) for game in late)


def _change(row: Row, game: Game) -> None:
    inputs, (winner, loser) = row["inputs"], game.sides
    assert (winner.before, loser.before) == (inputs["winner_rating"], inputs["loser_rating"])
    assert (winner.k, loser.k) == (inputs["winner_k"], inputs["loser_k"])
    assert (game.cube, game.divisor) == (inputs["cube"], inputs["divisor"])
    by_version = {"<1.2.0": "1.0.5", "1.2.0-1.3.0": "1.2.0", ">=1.3.1": "1.3.1", "1.3.1": "1.3.1"}
    assert game.version == by_version[inputs["formula_version"]]
    assert game.sent.get("win_type") == inputs.get("win_type")
    assert {"winner": winner.change, "loser": loser.change} == row["expected"]


def _expected_pct(row: Row, game: Game) -> None:
    favourite, other = sorted((side.before for side in game.sides), reverse=True)
    assert (favourite - other, game.divisor) == (row["inputs"]["gap"], row["inputs"]["divisor"])
    percent = 100 * pencil.expectation(favourite, other, game.divisor)
    assert float(round(percent, row["tolerance_decimals"])) == row["expected"]


def _k_for(row: Row, game: Game) -> None:
    count = row["inputs"].get("recent_ranked_games", row["inputs"].get("prior_ranked_games_in_window"))
    k = row["expected"]["K"] if isinstance(row["expected"], dict) else row["expected"]
    assert game.version == "1.3.1"
    assert k in {side.k for side in game.sides if side.games == count}


def _coefficient(row: Row, game: Game) -> None:
    assert game.cube == row["inputs"]["cube"]
    assert round(float(game.coefficient), 2) == row["expected"]


def _eligibility(row: Row, game: Game) -> None:
    sent = {
        "ranked": {},
        "boosted": {"mode": "boosted", "formula_version": "0.9.0"},
        "casual (name before 1.3.0)": {"mode": "casual"},
        "tournament_game": {"mode": "tournament", "formula_version": "1.0.4"},
        "ranked_resigned": {"end_reason": "resigned"},
        "ranked_disconnected": {"end_reason": "disconnected"},
        "ranked_timeout_3_moves": {"end_reason": "timed_out"},
    }
    assert game.sent == sent[row["inputs"]["case"]]
    assert (game.answer == "rated") is row["expected"]


def _window_edge(row: Row, game: Game) -> None:
    earlier = {one.finished_at for one in TABLES[game.pool] if set(one.players) == set(game.players)} - {
        game.finished_at
    }
    assert game.finished_at == row["inputs"]["game_at"]
    assert earlier == {row["inputs"]["prior_game_at"]}
    assert [side.games for side in game.sides] == [int(row["expected"]["counted"])] * 2


RUNNERS: dict[str, Callable[[Row, Game], None]] = {
    "change": _change,
    "expected_pct": _expected_pct,
    "k_for": _k_for,
    "cube_coefficient": _coefficient,
    "eligibility": _eligibility,
    "near-tie needs float64 and unrounded expectation": _change,
    "near-tie ÷800": _change,
    "zero change still counts and is still emitted": _change,
    "mixed K + cube: K16 is not exactly half of K32 after rounding": _change,
    "window count excludes the game being scored": _k_for,
    "7-day window lower edge (recommended inclusive)": _window_edge,
}


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["id"])
def test_a_published_number_is_played(row: Row) -> None:
    playing = [game for table in TABLES.values() for game in table if row["id"] in game.vectors]
    assert playing
    for game in playing:
        RUNNERS[row["kind"] if "kind" in row else row["trap"]](row, game)


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_every_game_is_rated_as_published_in_batches_of_any_size(name: str, batch: int) -> None:
    store = MemoryStore()
    messages = asyncio.run(_apply(POOLS[name], store, TABLES[name], batch))
    told = [orjson.loads(message.value or b"") for message in messages if message.topic == "rating-changed"]
    wanted = events(TABLES[name])
    assert [value["event_id"] for value in told] == list(wanted)
    for value in told:
        _is_as_published(value, wanted[value["event_id"]])
    letters = [message for message in messages if message.topic == "match-finished.dlt"]
    assert {dict(letter.headers)["dlt-reason"].decode() for letter in letters} <= {UNPUBLISHED}
    refused = [record(game).value for game in TABLES[name] if game.answer == UNPUBLISHED]
    assert [letter.value for letter in letters] == refused
    excluded = [orjson.loads(message.value or b"") for message in messages if message.topic == "match-excluded"]
    assert {value["match_id"]: value["reason"] for value in excluded} == {
        game.match_id: game.answer for game in TABLES[name] if game.answer not in {"rated", UNPUBLISHED}
    }
    held = in_memory(store)
    _rows_are_as_published(held, TABLES[name])
    _windows_are_whole(held, TABLES[name])


async def _apply(pool: Pool, store: MemoryStore, table: Sequence[Game], batch: int) -> list[Message]:
    decoder, target = Decoder("match-finished", POOLS), Target(pool.name, pool, MemoryTables(store, pool.name, "r"), "")
    published = [record(game) for game in table]
    decoded = [
        decoder.decode(Delivery(Source("match-finished", 0, offset), one.timestamp_ms, one.key, one.value, ()))
        for offset, one in enumerate(published)
    ]
    messages: list[Message] = []
    for first in range(0, len(decoded), batch):
        messages += (await apply(target, decoded[first : first + batch], Progress(0, {}))).messages
    return messages


def test_a_worker_rates_every_game_as_published_and_so_does_the_one_after_it(site: Site, tmp_path: Path) -> None:
    pools_file = tmp_path / "pools.toml"
    pools_file.write_text(POOLS_FILE, encoding="utf-8")
    site.create_inputs_of_any_date(PARTITIONS)
    site.apply_topics(PARTITIONS)
    worker = site.start_worker(pools_file=str(pools_file), batch_max="7")
    worker.until_assigned()
    everything = sorted((game for table in TABLES.values() for game in table), key=lambda game: game.written_ms)
    sent: list[Sent] = []
    for era in (
        [game for game in everything if game.written_ms < ms(LAST_CUT_OVER)],
        [game for game in everything if game.written_ms >= ms(LAST_CUT_OVER)],
    ):
        if sent:
            worker.start_again()
        sent += asyncio.run(publish(site, [record(game) for game in era], by_key(PARTITIONS)))
        wait_answered(site)
        assert worker.terminate() == 0
    answers = read_answers(site)
    for check in (repeats_are_identical, streams_are_whole, positions_are_whole):
        check(answers)
    everything_is_answered(sent, answers)
    letters_are_whole(sent, answers.letters)
    for name, table in TABLES.items():
        told = {key: value for key, (_, value) in answers.distinct.items() if value["pool"] == name}
        wanted = events(table)
        assert told.keys() == wanted.keys()
        for event_id, value in told.items():
            _is_as_published(value, wanted[event_id])
        held, _ = in_redis(site, name)
        _rows_are_as_published(held, table)


def _is_as_published(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    details, exact = value["details"], wanted["details"]
    doubles = {name: exact[name] for name in ("expected", "coefficient") if abs(details[name] - exact[name]) <= 1e-12}
    assert {**value, "details": {**details, **doubles}} == wanted
    assert all(type(value[name]) is int for name in ("before", "change", "after"))


def _rows_are_as_published(held: Held, table: Sequence[Game]) -> None:
    """What stands in the rows and records is what was published, and nothing that came later has touched it."""
    last = {value["player_id"]: value for value in events(table).values()}
    assert {player: (row.rating, row.seq) for player, row in held.rows.items()} == {
        player: (value["after"], value["seq"]) for player, value in last.items()
    }
    for game in rated(table):
        if record_of := held.records.get(game.match_id):  # pruned once it is behind the horizon
            assert record_of.rated is not None
            recorded = record_of.rated.winner, record_of.rated.loser
            assert [(side.before, side.standing) for side in recorded] == [
                (side.before, side.change) for side in game.sides
            ]


def _windows_are_whole(held: Held, table: Sequence[Game]) -> None:
    windows: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for game in rated(table):
        for player in game.players:
            windows[player].append((game.finished_at_ms, game.match_id.encode()))
    assert held.windows == {player: sorted(entries) for player, entries in windows.items()}
