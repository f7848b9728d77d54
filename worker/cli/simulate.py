"""`gammon-ratings simulate`: publish what four platforms might publish, for demos, rehearsals and load tests."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer
from aiokafka.errors import InvalidTimestampError, KafkaConnectionError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from worker.cli.errors import AWAY, WRONG_SETTING, fail
from worker.cli.simulation import DAY_MS, Kind, Published, Scenario, Shares
from worker.cli.simulation.feed import simulate as simulated
from worker.cli.simulation.marks import Marks, TopicMissingError, find_marks
from worker.cli.simulation.sending import now_ms, send
from worker.files import packaged
from worker.ratings.instants import format_instant, parse_instant
from worker.rules.errors import PoolsError
from worker.rules.pools import parse_pools
from worker.settings import Settings, load_settings

Written = Counter[tuple[str, Kind, str | None]]
"""Records written by topic (without prefix), kind and reason."""

_Share = typer.Option(min=0.0, max=1.0, rich_help_panel="Shares, relative to the number of matches")


def simulate(
    matches: Annotated[int, typer.Option(min=1, help="Distinct matches over all pools.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed and period give the same records, byte for byte.")] = 1,
    days: Annotated[float, typer.Option(min=0.001, max=3650, help="How many days the records span.")] = 14,
    end: Annotated[str, typer.Option(help="When the records end: `now`, or e.g. 2026-10-08T00:00:00Z.")] = "now",
    players: Annotated[int, typer.Option(min=2, help="Players in each pool.")] = 500,
    pools: Annotated[str, typer.Option(help="Pools of the pools file, separated by commas; left out, all.")] = "",
    late: Annotated[float, _Share] = 0.01,
    duplicate: Annotated[float, _Share] = 0.01,
    conflict: Annotated[float, _Share] = 0.002,
    invalid: Annotated[float, _Share] = 0.005,
    analyses: Annotated[float, _Share] = 0.5,
    prizes: Annotated[float, _Share] = 0.01,
    links: Annotated[float, _Share] = 0.01,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.01, help="Records a second, as they happen from now on; left out, past ones as fast as possible."
        ),
    ] = None,
    key: Annotated[
        Literal["match", "pool"], typer.Option(help="Key of the records: `pool` gives each pool strict order.")
    ] = "match",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask where others have published to the topics: go on.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Publish realistic matches, analyses, prizes and links, and tell what was written, to compare with what comes out.

    Late, repeated, contradictory and invalid records are among them as the shares say. What is called against-oneself
    is refused where the link that makes it so was applied before it, and rated otherwise.
    """
    settings = load_settings()
    shares = Shares(late, duplicate, conflict, invalid, analyses, prizes, links)
    ladders = _ladders(settings, pools)
    duration_ms = max(1, round(days * DAY_MS))
    ended_ms = _end(end, paced=rate is not None)
    scenario = Scenario(seed, matches, ended_ms - duration_ms, ladders, players, duration_ms, shares, key=key)
    marks = _agreed(scenario, settings, yes=yes)
    if rate is not None:
        duration_ms = max(1, round(scenario.expected_records / rate * 1000))
        scenario = Scenario(seed, matches, now_ms(), ladders, players, duration_ms, shares, key=key)
    began = time.monotonic()
    written = _publish(scenario, settings, marks, paced=rate is not None, quiet=as_json)
    _print(scenario, written, time.monotonic() - began, as_json=as_json)


def _ladders(settings: Settings, names: str) -> dict[str, str]:
    """Return the chosen pools of the pools file with their rulesets."""
    path = settings.pools_file or packaged("deploy/pools.toml")
    try:
        known = {name: pool.rules.name for name, pool in parse_pools(path.read_text(encoding="utf-8")).items()}
    except (OSError, UnicodeDecodeError, PoolsError) as error:
        fail(f"{path}: {error}", WRONG_SETTING)
    chosen = [name.strip() for name in names.split(",")] if names else list(known)
    for name in chosen:
        if name not in known:
            raise typer.BadParameter(f"{name!r} is not a pool of {path}; there is {', '.join(known)}.")
    return {name: known[name] for name in chosen}


def _end(text: str, *, paced: bool) -> int:
    if text == "now":
        return now_ms()
    if paced:
        raise typer.BadParameter("--end goes without --rate, which begins now.")
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"--end: {error}, or be `now`.") from None


def _agreed(scenario: Scenario, settings: Settings, *, yes: bool) -> Marks:
    """Return the marks to go on with; where others have published, end unless somebody agrees."""
    with _told(scenario, settings):
        marks = asyncio.run(find_marks(settings))
    if marks.others is None or yes:
        return marks
    found = f"{marks.others} at {settings.kafka_bootstrap} has records that were not simulated"
    made_up = f"{scenario.matches:,} made-up matches"
    if not sys.stdin.isatty():
        fail(
            f"{found}: set RATINGS_TOPIC_PREFIX to topics of their own, or give --yes to publish {made_up} among them.",
            WRONG_SETTING,
        )
    if not typer.confirm(f"{found}. Publish {made_up} among them?", err=True):
        fail("Nothing was published.")
    return marks


@contextmanager
def _told(scenario: Scenario, settings: Settings) -> Iterator[None]:
    """End what brokers refuse in a sentence."""
    try:
        yield
    except TopicMissingError as error:
        fail(str(error))
    except InvalidTimestampError:
        fail(
            f"The brokers take no records dated up to {format_instant(scenario.end_ms)}: choose another --end, "
            "or see to message.timestamp.after.max.ms and message.timestamp.before.max.ms of the topics."
        )
    except KafkaConnectionError:
        fail(f"No Kafka broker can be reached at {settings.kafka_bootstrap}: see to RATINGS_KAFKA_BOOTSTRAP.", AWAY)


def _publish(scenario: Scenario, settings: Settings, marks: Marks, *, paced: bool, quiet: bool) -> Written:
    written: Written = Counter()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    )
    task = progress.add_task("records", total=scenario.expected_records)

    def count(chunk: Sequence[Published]) -> None:
        written.update((record.topic, record.kind, record.reason) for record in chunk)
        progress.advance(task, len(chunk))

    try:
        with _told(scenario, settings), progress:
            asyncio.run(send(simulated(scenario), settings, paced=paced, sent=count, marks=marks))
    except KeyboardInterrupt:
        typer.echo("Stopped before the end; at least this was written:", err=True)
    return written


def _print(scenario: Scenario, written: Written, seconds: float, *, as_json: bool) -> None:
    summary = {
        "records": written.total(),
        "seconds": round(seconds, 3),
        "from": format_instant(scenario.start_ms),
        "to": format_instant(scenario.end_ms),
        "seed": scenario.seed,
    }
    if as_json:
        typer.echo(json.dumps({**summary, "written": _rows(written)}, indent=2, ensure_ascii=False))
        return
    table = Table("topic", "kind", "reason", title="Written")
    table.add_column("records", justify="right")
    for row in _rows(written):
        table.add_row(row["topic"], row["kind"], row["reason"] or "", f"{row['records']:,}")
    Console().print(table)
    typer.echo(
        f"{written.total():,} records in {seconds:.1f} s, {written.total() / max(seconds, 1e-9):,.0f}/s, "
        f"dated {summary['from']} to {summary['to']}, seed {scenario.seed}."
    )


def _rows(written: Written) -> list[Mapping[str, Any]]:
    order = list(Kind)
    counted = sorted(written.items(), key=lambda item: (item[0][0], order.index(item[0][1]), item[0][2] or ""))
    return [
        {"topic": topic, "kind": kind.value, "reason": reason, "records": records}
        for (topic, kind, reason), records in counted
    ]
