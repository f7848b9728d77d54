"""A group of commands that are imported only when one of them is asked for."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from worker.cli.errors import ExpectedErrors


class Command(NamedTuple):
    """A command as the help lists it; `place` is `module:name` of a function or a group."""

    name: str
    place: str
    help: str


class Commands(ExpectedErrors):
    """Lists its commands without importing them, so that nobody waits for what the others need."""

    listed: Iterable[Command] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._places = {command.name: command.place for command in self.listed}
        for command in self.listed:
            self.add_command(TyperCommand(command.name, help=command.help))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else imported(name, self._places[name]), rest


def imported(name: str, place: str) -> Any:
    """Return the command, or the group of commands, that is at `module:name`."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    app = typer.Typer(add_completion=False)
    app.command(name)(found)
    return typer.main.get_command(app)
