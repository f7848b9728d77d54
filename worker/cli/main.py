"""The command `gammon-ratings`."""

import os
from importlib.metadata import version
from typing import Annotated

import typer

from worker.cli import leaderboard, player, pools, run, simulate, topics
from worker.cli.audit import command as audit
from worker.cli.demo import command as demo
from worker.cli.errors import ExpectedErrors
from worker.cli.explain import command as explain
from worker.settings import unknown_variables

app = typer.Typer(
    cls=ExpectedErrors,
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
        typer.echo(version("gammon-ratings"))
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tell of settings that look misspelt, then run the command."""
    for sentence in unknown_variables(os.environ):
        typer.echo(sentence, err=True)


app.add_typer(topics.app, name="topics")
app.add_typer(pools.app, name="pools")
app.command()(run.worker)
app.command()(simulate.simulate)
app.command()(player.player)
app.command()(leaderboard.leaderboard)
app.command()(explain.explain)
app.command()(audit.audit)
app.command()(demo.demo)
