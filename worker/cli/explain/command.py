"""`gammon-ratings explain`: why a match moved two ratings as it did, or did not count."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from worker.cli.errors import fail
from worker.cli.explain.match import Explanation, as_json, as_text
from worker.cli.explain.match import explain as explained
from worker.cli.reading import open_pool, readable_id
from worker.cli.words import count, shown_id
from worker.ratings.rows import ParkedAnalysis
from worker.tables.tables import Wanted


def explain(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    match_id: Annotated[str, typer.Argument(help="The match's id.", show_default=False, callback=readable_id)],
    json_wanted: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers unrounded.")] = False,
) -> None:
    """Show the arithmetic of a match, or the rule by which it does not count. Exits 1 for one that is not known."""
    found = asyncio.run(_read(pool, match_id))
    typer.echo(json.dumps(as_json(found), indent=2, ensure_ascii=False) if json_wanted else as_text(found))


async def _read(pool_name: str, match_id: str) -> Explanation:
    async with open_pool(pool_name) as opened:
        loaded = await opened.tables.load(Wanted(match_ids=[match_id]))
    record = loaded.records.get(match_id)
    if record is None:
        parked = loaded.parked.get(match_id)
        waiting = "" if parked is None else _waiting(parked.analyses)
        days = opened.pool.rules.retention_days
        fail(
            f"There is no match {shown_id(match_id)} in {pool_name}: it never came, was refused, or is older than the "
            f"{days} days for which matches are kept.{waiting}"
        )
    return explained(opened.pool, record, time.time_ns() // 1_000_000)


def _waiting(analyses: Sequence[ParkedAnalysis]) -> str:
    return f" {count(len(analyses), 'analysis waits', 'analyses wait')} for it."
