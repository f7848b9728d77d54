"""`gammon-ratings explain`: why a match moved two ratings as it did, or did not count; and what else is known."""

import asyncio
import json
import time
from typing import Annotated

import typer

from worker.cli.errors import fail
from worker.cli.explain.event import Published, judge
from worker.cli.explain.match import as_json, as_text
from worker.cli.explain.match import explain as explained
from worker.cli.explain.told import Told
from worker.cli.explain.waiting import parked, unknown
from worker.cli.reading import OpenPool, open_pool, readable_id
from worker.cli.words import shown_id
from worker.ratings.instants import parse_instant
from worker.tables.tables import Wanted


def explain(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    match_id: Annotated[str, typer.Argument(help="The match's id.", show_default=False, callback=readable_id)],
    event: Annotated[
        typer.FileBinaryRead | None,
        typer.Option(
            help="A file with an event about this id (- for standard input): tell what it is to what is known.",
            show_default=False,
        ),
    ] = None,
    published_at: Annotated[
        str | None,
        typer.Option(help="The timestamp of --event's record, e.g. 2026-11-01T12:00:00Z [default: now]."),
    ] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers unrounded.")] = False,
) -> None:
    """Show the arithmetic of a match, the rule by which it does not count, or the analyses that wait for it.

    Exits 1 for what is not known.
    """
    published = _published(event is not None, published_at)
    if event is None:
        text, facts = asyncio.run(_match(pool, match_id))
    else:
        text, facts = asyncio.run(_event(pool, match_id, event.read(), published))
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


async def _event(pool_name: str, match_id: str, value: bytes, published: Published) -> Answer:
    async with open_pool(pool_name) as opened:
        told = await judge(opened, match_id, value, published)
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
