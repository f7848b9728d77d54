"""`gammon-ratings pools`: check a pools file."""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from worker.cli.errors import WRONG_SETTING, fail
from worker.files import packaged
from worker.rules.errors import PoolsError
from worker.rules.pools import Pool, parse_pools
from worker.settings import load_settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Check the file that says which pools there are and how each is rated.",
)


@app.callback()
def _group() -> None:
    """Keep `check` a command of its own while it is the only one."""


@app.command()
def check(
    file: Annotated[
        Path | None,
        typer.Argument(help="A pools file; left out, the one of RATINGS_POOLS_FILE, or else the one that is shipped."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Print every pool with its ruleset and all its settings, or the line that is wrong (exit code 2)."""
    path = file or load_settings().pools_file or packaged("deploy/pools.toml")
    try:
        pools = parse_pools(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        fail(f"{path} is not a UTF-8 text file.", WRONG_SETTING)
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}.", WRONG_SETTING)
    except PoolsError as error:
        fail(f"{path}: {error}", WRONG_SETTING)
    shown = {name: {"ruleset": pool.rules.name, **_settings(pool)} for name, pool in pools.items()}
    typer.echo(json.dumps(shown, indent=2) if as_json else "\n\n".join(map(_lines, shown, shown.values())))


def _settings(pool: Pool) -> dict[str, Any]:
    rules: Any = pool.rules
    return {setting.name: _plain(getattr(rules, setting.name)) for setting in fields(rules) if setting.init}


def _plain(value: Any) -> Any:
    """Return a value as the pools file writes it: tables for named tuples, instants as text."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key.removesuffix("_ms"): _entry(key, item) for key, item in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _entry(key: str, value: Any) -> Any:
    if not key.endswith("_ms"):
        return _plain(value)
    return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _lines(name: str, settings: Mapping[str, Any]) -> str:
    return "\n".join([name, *(f"  {key} = {_toml(value)}" for key, value in settings.items())])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
