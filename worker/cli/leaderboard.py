"""`gammon-ratings leaderboard`: who stands where."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli.errors import fail
from worker.cli.reading import OpenPool, open_pool
from worker.cli.words import count, shown_id, shown_rating
from worker.ratings.rows import Row
from worker.rules.pools import Pool
from worker.tables.tables import Standings, Wanted


def leaderboard(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    top: Annotated[int, typer.Option(min=1, max=100_000, help="How many places to show.")] = 10,
    around: Annotated[
        str | None, typer.Option(metavar="ID", help="Show the places around this player instead of the first ones.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with ratings unrounded.")] = False,
) -> None:
    """Show the best players of a pool, or those around one. Exits 1 for a pool or player that is not known."""
    opened, places = asyncio.run(_read(pool, top, around))
    if as_json:
        typer.echo(json.dumps([_as_json(opened, place) for place in places], indent=2, ensure_ascii=False))
    elif places:
        Console().print(table(opened, places, marked=around))
    else:
        typer.echo(f"Nobody is on the leaderboard of {pool} yet.")


def table(pool: Pool, places: Sequence[Standings], *, marked: str | None = None) -> Table:
    """Return these places of a pool's leaderboard as they are shown, one player in bold."""
    shown = Table("", "player", title=pool.name)
    for heading in ("rating", "rated games", *(["experience"] if pool.rules.has_experience else [])):
        shown.add_column(heading, justify="right")
    for rank, player_id, row in places:
        cells = [str(rank), shown_id(player_id), shown_rating(row.rating), f"{row.rated_games:,}"]
        if pool.rules.has_experience:
            cells.append(f"{row.experience:,}")
        shown.add_row(*map(Text, cells), style="bold" if player_id == marked else None)
    return shown


async def _read(name: str, top: int, around: str | None) -> tuple[Pool, Sequence[Standings]]:
    async with open_pool(name) as opened:
        first = 1 if around is None else max(1, await _place(opened, around) - top // 2)
        return opened.pool, await opened.tables.leaderboard(first, first + top - 1)


async def _place(opened: OpenPool, player_id: str) -> int:
    rank = await opened.tables.rank(player_id)
    if rank is None:
        row = (await opened.tables.load(Wanted(players=[player_id]))).rows.get(player_id)
        fail(_why_nowhere(opened.pool, player_id, row))
    return rank


def _why_nowhere(pool: Pool, player_id: str, row: Row | None) -> str:
    if row is None:
        return f"Nobody with the id {shown_id(player_id)} has a rating in {pool.name}."
    played = count(row.rated_games, "rated game")
    if pool.rules.has_experience:
        played += f" and {count(row.experience, 'point')} of experience"
    return f"{shown_id(player_id)} is not on the leaderboard of {pool.name} yet, with {played}."


def _as_json(pool: Pool, place: Standings) -> dict[str, object]:
    rank, player_id, row = place
    found = {"rank": rank, "player_id": player_id, "rating": row.rating, "rated_games": row.rated_games}
    return found | ({"experience": row.experience} if pool.rules.has_experience else {})
