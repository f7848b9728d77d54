"""`gammon-ratings topics`: make the topics of the wire contract, and tell what differs."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from worker.files import packaged
from worker.settings import Settings, load_settings
from worker.stream.topic_admin import apply as apply_plan
from worker.stream.topic_admin import read_topics, topic_admin
from worker.stream.topics import DeclaredTopic, Difference, parse_topics, plan, with_overrides

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Create the Kafka topics, or check those that are there."
)

Outputs = Annotated[
    bool,
    typer.Option(
        "--outputs",
        help="Give output topics that exist more partitions too. Their keys move, so let consumers finish first.",
    ),
]
Replication = Annotated[
    int | None,
    typer.Option(min=1, max=100, help="Replicas of a topic, e.g. 1 for a single broker.  [env: RATINGS_REPLICATION]"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")]


@app.command()
def apply(outputs: Outputs = False, replication: Replication = None, as_json: Json = False) -> None:
    """Create missing topics, raise partition counts and set what differs. Nothing is ever lowered or deleted.

    Exits 1 if something remains that it may not or cannot change.
    """
    settings = load_settings()
    topics = _declared(settings, replication, outputs=outputs)

    async def run() -> tuple[list[Difference], list[Difference]]:
        async with topic_admin(settings) as admin:
            return await apply_plan(admin, topics, outputs=outputs)

    applied, remaining = asyncio.run(run())
    if as_json:
        _print_json(applied=applied, differences=remaining)
    else:
        for difference in applied:
            typer.echo(f"set right: {difference.sentence}")
        _print_remaining(remaining, count=len(topics))
    raise typer.Exit(1 if remaining else 0)


@app.command()
def check(outputs: Outputs = False, replication: Replication = None, as_json: Json = False) -> None:
    """Print each difference between the topics and their declaration, and change nothing.

    Exits 1 if there is one, 0 if not.
    """
    settings = load_settings()
    topics = _declared(settings, replication, outputs=outputs)

    async def run() -> list[Difference]:
        async with topic_admin(settings) as admin:
            return plan(topics, await read_topics(admin, [topic.name for topic in topics]), outputs=outputs)

    differences = asyncio.run(run())
    if as_json:
        _print_json(differences=differences)
    else:
        _print_remaining(differences, count=len(topics))
    raise typer.Exit(1 if differences else 0)


def _declared(settings: Settings, replication: int | None, *, outputs: bool) -> list[DeclaredTopic]:
    path = settings.topics_file or packaged("deploy/kafka/topics.toml")
    return with_overrides(
        parse_topics(path.read_text(encoding="utf-8")),
        prefix=settings.topic_prefix,
        partitions=settings.partitions,
        replication=replication or settings.replication,
        outputs=outputs,
    )


def _print_remaining(differences: Sequence[Difference], *, count: int) -> None:
    for difference in differences:
        typer.echo(difference.sentence)
    if not differences:
        typer.echo(f"All {count} topics are as declared.")


def _print_json(**lists: Sequence[Difference]) -> None:
    document = {name: [asdict(difference) for difference in differences] for name, differences in lists.items()}
    typer.echo(json.dumps(document, indent=2))
