"""`gammon-ratings player`: how one player stands."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from worker.cli.errors import fail
from worker.cli.reading import OpenPool, open_pool, readable_id
from worker.cli.words import count, shown_id, shown_rating
from worker.ratings.instants import DAY_MS, format_instant
from worker.ratings.rows import Link
from worker.tables.tables import Wanted


def player(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    player_id: Annotated[str, typer.Argument(help="The player's id.", show_default=False, callback=readable_id)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with ratings unrounded.")] = False,
) -> None:
    """Show a player's rating, place and games. Exits 1 for a player or pool that is not known."""
    found = asyncio.run(_read(pool, player_id))
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _lines(found))


async def _read(pool_name: str, player_id: str) -> dict[str, Any]:
    async with open_pool(pool_name) as opened:
        return await _standing(opened, player_id, time.time_ns() // 1_000_000)


async def _standing(opened: OpenPool, player_id: str, now_ms: int) -> dict[str, Any]:
    rules, tables = opened.pool.rules, opened.tables
    now = (player_id, now_ms, "")
    games = [] if rules.window_ms is None else [now]
    loaded = await tables.load(Wanted(players=[player_id], games=games, window_ms=rules.window_ms or 0))
    rank, row, page = await tables.around(player_id, 1)
    if row is None:
        fail(f"Nobody with the id {shown_id(player_id)} has a rating in {opened.pool.name}.")
    newest = row.newest_finished_at_ms
    return {
        "pool": opened.pool.name,
        "player_id": player_id,
        "rating": row.rating,
        "rank": rank,
        "players": page.players,
        "rated_games": row.rated_games,
        **({"experience": row.experience} if rules.has_experience else {}),
        **({"games_in_window": loaded.games[now], "window_days": _days(rules.window_ms)} if rules.window_ms else {}),
        "newest_match_finished_at": None if newest is None else format_instant(newest),
        "changes": row.seq,
        "last_change_source": row.last_source,
        **_link(loaded.links.get(player_id)),
    }


def _link(link: Link | None) -> dict[str, str | bool]:
    """Return what joins an id to another one."""
    if link is None:
        return {}
    return {"anonymous_id": link.anonymous_id, "account_id": link.account_id, "took_over": link.took_over}


def _days(window_ms: int) -> float:
    days = window_ms / DAY_MS
    return int(days) if days == int(days) else days


def _linked(found: Mapping[str, Any]) -> str:
    if found["player_id"] == found["anonymous_id"]:
        return f"retired: its matches count for {shown_id(found['account_id'])}"
    history = "took its history over" if found["took_over"] else "kept a history of its own"
    return f"has claimed {shown_id(found['anonymous_id'])}, and {history}"


def _lines(found: Mapping[str, Any]) -> str:
    rank, players = found["rank"], found["players"]
    lines = [
        ("rating", shown_rating(found["rating"])),
        ("place", "not on the leaderboard" if rank is None else f"{rank:,} of {players:,}"),
    ]
    lines.append(("rated games", f"{found['rated_games']:,}"))
    if "experience" in found:
        lines.append(("experience", f"{found['experience']:,}"))
    if "games_in_window" in found:
        lines.append((f"the last {found['window_days']:g} days", count(found["games_in_window"], "ranked game")))
    if found["newest_match_finished_at"] is not None:
        lines.append(("newest match", found["newest_match_finished_at"]))
    topic, partition, offset = found["last_change_source"].split("/")
    lines.append(("last change", f"number {found['changes']:,}, from {topic}, partition {partition}, offset {offset}"))
    if "account_id" in found:
        lines.append(("linked", _linked(found)))
    title = f"{shown_id(found['player_id'])} in {found['pool']}"
    return "\n".join([title, *(f"  {name:<16}{value}" for name, value in lines)])
