"""`gammon-ratings leaderboard`: who stands where."""

import asyncio
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli.errors import fail
from worker.cli.reading import open_pool, readable_id
from worker.cli.words import count, shown_id, shown_rating
from worker.ratings.rows import Link, Row
from worker.rules.nardeon import Nardeon
from worker.rules.pools import Pool
from worker.tables.tables import PAGE_MAX, PLACE_MAX, Page, Standings, Wanted


def leaderboard(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", "--top", min=1, max=PAGE_MAX, help="How many places to show.")] = 10,
    first: Annotated[
        int | None, typer.Option(min=1, max=PLACE_MAX, help="The place to begin with, 1 if left out.")
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Show the places around this player instead of the first ones.", callback=readable_id
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with ratings unrounded.")] = False,
) -> None:
    """Show the best players of a pool, or those around one.

    Exits 1 for a pool that is not known or a player who is not on the leaderboard, and says why.
    """
    if around is not None and first is not None:
        raise typer.BadParameter("give --first or --around, not both")
    opened, page = asyncio.run(_read(pool, first or 1, limit, around))
    if as_json:
        typer.echo(json.dumps(_as_json(opened, page), indent=2, ensure_ascii=False))
    elif page.places:
        Console().print(table(opened, page, marked=around))
    elif page.players:
        typer.echo(f"The leaderboard of {pool} ends at place {page.players:,}.")
    else:
        typer.echo(f"Nobody is on the leaderboard of {pool} yet.")


def table(pool: Pool, page: Page, *, marked: str | None = None) -> Table:
    """Return a page of a pool's leaderboard as it is shown, one player in bold."""
    shown = Table("", "player", title=pool.name, caption=count(page.players, "player"))
    for heading in ("rating", "rated games", *(["experience"] if pool.rules.has_experience else [])):
        shown.add_column(heading, justify="right")
    for rank, player_id, row in page.places:
        cells = [f"{rank:,}", shown_id(player_id), shown_rating(row.rating), f"{row.rated_games:,}"]
        if pool.rules.has_experience:
            cells.append(f"{row.experience:,}")
        shown.add_row(*map(Text, cells), style="bold" if player_id == marked else None)
    return shown


async def _read(name: str, first: int, limit: int, around: str | None) -> tuple[Pool, Page]:
    async with open_pool(name) as opened:
        if around is None:
            return opened.pool, await opened.tables.leaderboard(first, limit)
        rank, row, page = await opened.tables.around(around, limit)
        if rank is None:
            links = (await opened.tables.load(Wanted(players=[around]))).links
            fail(_why_nowhere(opened.pool, around, row, links.get(around)))
        return opened.pool, page


def _why_nowhere(pool: Pool, player_id: str, row: Row | None, link: Link | None) -> str:
    who = shown_id(player_id)
    if row is None:
        return f"Nobody with the id {who} has a rating in {pool.name}."
    if row.retired and link is not None:
        account = shown_id(link.account_id)
        return f"{who} is not on the leaderboard of {pool.name}: {account} has claimed it, and its matches count there."
    if pool.rules.on_leaderboard(row.rated_games, row.experience):  # the pool's settings have changed since
        return f"{who} comes onto the leaderboard of {pool.name} with the next rated game."
    if isinstance(pool.rules, Nardeon):
        missing = f"{row.experience:,} of {count(pool.rules.leaderboard_experience, 'point')} of experience"
    else:
        missing = "no rated game so far"
    return f"{who} is not on the leaderboard of {pool.name} yet: {missing}."


def _as_json(pool: Pool, page: Page) -> dict[str, object]:
    places = [_place_as_json(pool, place) for place in page.places]
    return {"pool": pool.name, "players": page.players, "places": places}


def _place_as_json(pool: Pool, place: Standings) -> dict[str, object]:
    rank, player_id, row = place
    found = {"rank": rank, "player_id": player_id, "rating": row.rating, "rated_games": row.rated_games}
    return found | ({"experience": row.experience} if pool.rules.has_experience else {})
