"""The command `gammon-ratings`."""

import os
from typing import Annotated

import typer

from worker.cli.commands import Command, Commands


class AllCommands(Commands):
    """Every command, in the order of the help, each with the first paragraph of its own."""

    listed = (
        Command(
            "worker",
            "worker.cli.run:worker",
            "Rate what is published to the four input topics, until SIGTERM or SIGINT.",
        ),
        Command(
            "simulate",
            "worker.cli.simulate:simulate",
            "Publish realistic matches, analyses, prizes and links, and tell what was written, to compare with what "
            "comes out.",
        ),
        Command(
            "player",
            "worker.cli.player:player",
            "Show a player's rating, place and games. Exits 1 for a player or pool that is not known.",
        ),
        Command(
            "leaderboard",
            "worker.cli.leaderboard:leaderboard",
            "Show the best players of a pool, or those around one.",
        ),
        Command(
            "explain",
            "worker.cli.explain.command:explain",
            "Tell why a match moved two ratings as it did, or does not count, or which analyses wait for it.",
        ),
        Command(
            "audit",
            "worker.cli.audit.command:audit",
            "Replay all causes of a pool by position through the rules, and compare every published byte and all of "
            "Redis.",
        ),
        Command(
            "demo",
            "worker.cli.demo.command:demo",
            "Simulate two weeks on four platforms, have a real worker rate them, and check every number that comes "
            "out.",
        ),
        Command("topics", "worker.cli.topics:app", "Create the Kafka topics, or check those that are there."),
        Command(
            "pools",
            "worker.cli.pools:app",
            "Check the file that says which pools there are and how each is rated.",
        ),
    )


app = typer.Typer(
    cls=AllCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "Rates finished backgammon matches: match-finished events from Kafka in, rating-changed events out, "
        "the ratings in Redis.\n\n"
        "Settings are environment variables that begin with RATINGS_, e.g. RATINGS_KAFKA_BOOTSTRAP=127.0.0.1:9092 and "
        "RATINGS_REDIS_URL=redis://127.0.0.1:6379/0. A wrong one ends every command with exit code 2 and a sentence "
        "that names it."
    ),
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 nothing else needs it

        typer.echo(version("gammon-ratings"))
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tell of settings that look misspelt, then run the command."""
    if not any(name.upper().startswith("RATINGS_") for name in os.environ):
        return
    from worker.settings import unknown_variables  # noqa: PLC0415 not everyone who asks for help has any

    for sentence in unknown_variables(os.environ):
        typer.echo(sentence, err=True)
