"""`gammon-ratings explain`: why a match moved two ratings as it did, or did not count; and what else is known."""

import asyncio
import json
import time
from typing import Annotated

import typer

from worker.cli.errors import fail
from worker.cli.explain.link import claimed
from worker.cli.explain.match import as_json, as_text
from worker.cli.explain.match import explain as explained
from worker.cli.explain.prize import paid
from worker.cli.explain.told import Published, Told
from worker.cli.explain.waiting import parked, unknown
from worker.cli.reading import OpenPool, open_pool, readable_id
from worker.cli.words import shown_id
from worker.ratings.instants import parse_instant
from worker.tables.tables import Wanted


def explain(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The match's id; the tournament's with --prize; an anonymous id or an account with --link.",
            show_default=False,
            callback=readable_id,
        ),
    ],
    prize: Annotated[
        str | None,
        typer.Option(
            metavar="PLAYER_ID", help="Tell of this player's prize.", show_default=False, callback=readable_id
        ),
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="Tell of the link of this id.")] = False,
    event: Annotated[
        typer.FileBinaryRead | None,
        typer.Option(
            metavar="FILE",
            help="A file with an event about this id (- for standard input): tell what it is to what is known.",
            show_default=False,
        ),
    ] = None,
    published_at: Annotated[
        str | None,
        typer.Option(
            metavar="INSTANT",
            help="The timestamp of --event's record, e.g. 2026-11-01T12:00:00Z; without it, now.",
            show_default=False,
        ),
    ] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers unrounded.")] = False,
) -> None:
    """Tell why a match moved two ratings as it did, or does not count, or which analyses wait for it.

    With an option: what a prize or a link did, or what an event would be to what is known.
    Exits 1 for what is not known.
    """
    if (prize is not None) + link + (event is not None) > 1:
        raise typer.BadParameter("give one of them, not several", param_hint="--prize, --link, --event")
    published = _published(event is not None, published_at)
    if event is not None:
        asked = _event(pool, identifier, event.read(), published)
    elif prize is not None:
        asked = _prize(pool, identifier, prize)
    else:
        asked = _link(pool, identifier) if link else _match(pool, identifier)
    text, facts = asyncio.run(asked)
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False) if json_wanted else text)


Answer = tuple[str, dict[str, object]]
"""What is told, for people and for programs."""


async def _match(pool_name: str, match_id: str) -> Answer:
    async with open_pool(pool_name) as opened:
        loaded = await opened.tables.load(Wanted(match_ids=[match_id]))
    record, waiting = loaded.records.get(match_id), loaded.parked.get(match_id)
    if record is not None:
        explanation = explained(opened.pool, record, _now_ms())
        return as_text(explanation), as_json(explanation)
    if waiting is None:
        fail(_no_match(opened, match_id, loaded.horizon_ms))
    return _answer(parked(opened.pool, match_id, waiting, loaded.horizon_ms))


def _no_match(opened: OpenPool, match_id: str, horizon_ms: int) -> str:
    return unknown(
        f"The match {shown_id(match_id)}",
        "there is no record of it, and no analysis waits for it",
        opened.pool.name,
        opened.settings.topic("match-finished.dlt"),
        horizon_ms,
        f"{opened.settings.topic('rating-changed')} still has what it did, if it was rated",
    )


async def _prize(pool_name: str, tournament_id: str, player_id: str) -> Answer:
    async with open_pool(pool_name) as opened:
        if not opened.pool.rules.has_prizes:
            fail(f"There are no prizes in {pool_name}, a {opened.pool.rules.name} pool.")
        loaded = await opened.tables.load(Wanted(prizes=[(tournament_id, player_id)]))
    found = loaded.prizes.get((tournament_id, player_id))
    if found is None:
        what = f"A prize of the tournament {shown_id(tournament_id)} for {shown_id(player_id)}"
        letters = opened.settings.topic("tournament-prize-awarded.dlt")
        looked_for = "it is not among the prizes that were paid, all of which are remembered"
        fail(unknown(what, looked_for, pool_name, letters, loaded.horizon_ms))
    return _answer(paid(opened.pool, found))


async def _link(pool_name: str, player_id: str) -> Answer:
    async with open_pool(pool_name) as opened:
        if not opened.pool.rules.has_links:
            fail(f"There are no links in {pool_name}, a {opened.pool.rules.name} pool.")
        loaded = await opened.tables.load(Wanted(players=[player_id]))
    found = loaded.links.get(player_id)
    if found is None:
        letters = opened.settings.topic("identity-linked.dlt")
        looked_for = "no link names it, as the anonymous id or as the account, and all links are remembered"
        fail(unknown(f"A link of {shown_id(player_id)}", looked_for, pool_name, letters, loaded.horizon_ms))
    return _answer(claimed(opened.pool, found, loaded.rows))


async def _event(pool_name: str, identifier: str, value: bytes, published: Published) -> Answer:
    from worker.cli.explain.event import judge  # noqa: PLC0415 only this needs what a worker decodes with

    async with open_pool(pool_name) as opened:
        told = await judge(opened, identifier, value, published)
    if isinstance(told, str):
        fail(told)
    return _answer(told)


def _answer(told: Told) -> Answer:
    return told.as_text(), told.as_json()


def _published(with_event: bool, published_at: str | None) -> Published:
    if published_at is None:
        return Published(_now_ms(), given=False)
    if not with_event:
        raise typer.BadParameter("it is for --event only", param_hint="--published-at")
    try:
        return Published(parse_instant(published_at), given=True)
    except ValueError as error:
        raise typer.BadParameter(f"{error}", param_hint="--published-at") from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
