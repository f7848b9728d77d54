"""`gammon-ratings audit`: whether a pool's numbers are what its causes make of the rules, to the last byte."""

import asyncio
import json
import logging
from typing import Annotated, Any

import typer
from rich.console import Console

from worker.cli.audit.difference import NOWHERE
from worker.cli.audit.session import Report, audit_all, audit_topics
from worker.cli.errors import fail
from worker.cli.reading import pool_named
from worker.cli.words import count
from worker.settings import load_settings
from worker.stream.opening import load_pools


def audit(
    pool: Annotated[str, typer.Argument(help="The pool, e.g. gammon42.", show_default=False)],
    from_topics: Annotated[
        bool,
        typer.Option("--from-topics", help="Read only inputs and rating-changed; say what became of inputs."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay all causes of a pool by position through the rules, and compare every published byte and all of Redis.

    A pool may be audited while workers are at work; nothing is written anywhere. Exits 1 and names the first difference
    in order of position if there is one.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it could not mend ends in a sentence of ours
    settings = load_settings()
    pools = load_pools(settings)
    chosen = pool_named(pool, pools)
    run = audit_topics if from_topics else audit_all
    report = asyncio.run(run(settings, chosen, pools, Console(stderr=True)))
    if as_json:
        typer.echo(json.dumps(as_document(report), indent=2, ensure_ascii=False))
    elif report.difference is None:
        typer.echo("\n".join(lines(report)))
    if report.difference is not None:
        fail(report.difference.sentence)


def lines(report: Report) -> list[str]:
    """Return what an audit that found nothing wrong has seen: one line, and one for each kind of input it judged."""
    seen = (
        f"{report.pool}: {count(report.matches, 'match', 'matches')}, {count(report.changes, 'change')} of "
        f"{count(report.players, 'player')}, {count(report.positions, 'position')} replayed in {report.seconds:.1f} s: "
    )
    if not report.from_topics:
        waiting = f"; {count(report.in_flight, 'cause')} in flight" if report.in_flight else ""
        return [f"{seen}every byte published and all that Redis holds is what the rules give{waiting}."]
    judged: dict[str, list[str]] = {}
    for (kind, fate), number in sorted(report.fates.items()):
        judged.setdefault(kind, []).append(f"{number:,} {fate}")
    return [
        f"{seen}every byte published is what the rules give, and every input is accounted for.",
        *(f"  {kind}: {', '.join(fates)}" for kind, fates in judged.items()),
    ]


def as_document(report: Report) -> dict[str, Any]:
    """Return the report for programs; a difference without a position has null there."""
    found = report.difference
    position = None if found is None or found.position == NOWHERE else found.position
    inputs: dict[str, dict[str, int]] = {}
    for (kind, fate), number in sorted(report.fates.items()):
        inputs.setdefault(kind, {})[fate] = number
    return {
        "pool": report.pool,
        "from_topics": report.from_topics,
        "matches": report.matches,
        "changes": report.changes,
        "players": report.players,
        "positions": report.positions,
        **({"inputs": inputs} if report.from_topics else {"in_flight": report.in_flight}),
        "seconds": round(report.seconds, 3),
        "difference": None if found is None else {"position": position, "sentence": found.sentence},
    }
