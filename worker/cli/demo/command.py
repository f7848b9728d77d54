"""`gammon-ratings demo`: a fortnight on four platforms, rated by a real worker, and audited."""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console

from worker.cli.audit.command import lines
from worker.cli.audit.session import audit_topics
from worker.cli.demo.audit import audit
from worker.cli.demo.collect import answers, ratings_of, tables_of
from worker.cli.demo.embedded import NotInstalledError
from worker.cli.demo.ground import Ground, open_ground, own_topics
from worker.cli.demo.pace import Pace, by_day
from worker.cli.demo.process import ServerFailedError
from worker.cli.demo.rating import DemoError, Progress, counted_by_worker, running_worker, watch
from worker.cli.demo.report import audit_line, show_leaderboards, show_tallies
from worker.cli.demo.show import shown_progress
from worker.cli.demo.tally import Answers, Stated, differences
from worker.cli.errors import WRONG_SETTING, fail
from worker.cli.explain.match import as_text, explain
from worker.cli.simulation import DAY_MS, DEFAULT_POOLS, Published, Scenario, Shares, simulate
from worker.cli.simulation.presets import SPANS_CUT_OVER_MS
from worker.cli.simulation.sending import now_ms, send
from worker.files import packaged
from worker.rules.pools import Pool, parse_pools
from worker.tables.tables import UNPOOLED, PoolTables, Wanted

_FORTNIGHT_MS = 14 * DAY_MS
_SHARES = Shares(prizes=0.02, links=0.02)
_TOP = 10
_STOP_S = 10.0


def demo(
    kafka: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Use this Kafka, not the embedded broker.")
    ] = None,
    redis: Annotated[str | None, typer.Option(metavar="URL", help="Use this Redis, not the embedded one.")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Distinct matches over all four pools.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed, another fortnight.")] = 1,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep topics, tables and files, and an embedded server until Ctrl-C, to look around."
        ),
    ] = False,
) -> None:
    """Simulate two weeks on four platforms, have a real worker rate them, and check every number that comes out.

    Late, repeated, contradictory and invalid events are among them, analyses come up to days after their match,
    tournaments pay prizes, and anonymous players sign up.
    Topics and keys get a prefix of their own, so nothing that is there is touched. Exits 1 if anything is wrong.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it could not mend ends in a sentence of ours
    console = Console()
    try:
        with open_ground(kafka, redis, keep=keep) as ground:
            problems = asyncio.run(_demo(ground, console, _scenario(matches, seed), keep=keep))
    except NotInstalledError as error:
        fail(str(error), WRONG_SETTING)
    except DemoError as error:
        fail(str(error))
    except ServerFailedError as error:
        fail(f"The embedded server did not start: {error}. With --kafka and --redis the demo uses servers of yours.")
    except (KeyboardInterrupt, asyncio.CancelledError):
        fail("Stopped.", 130)
    if problems:
        fail(problems[0])


def _scenario(matches: int, seed: int) -> Scenario:
    """Return the fortnight around gammon42's change of formula, or the last one while that is still to come."""
    start_ms = min(SPANS_CUT_OVER_MS, now_ms() - _FORTNIGHT_MS)
    return Scenario(seed=seed, matches=matches, start_ms=start_ms, duration_ms=_FORTNIGHT_MS, shares=_SHARES)


async def _demo(ground: Ground, console: Console, scenario: Scenario, *, keep: bool) -> list[str]:
    """Run the demo, show everything, and return what is wrong."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    began = time.monotonic()
    pools = parse_pools(packaged("deploy/pools.toml").read_text(encoding="utf-8"))
    async with own_topics(ground, keep=keep) as topics:
        console.print(_introduction(ground, scenario, topics), highlight=False)
        async with tables_of(ground.settings, pools) as tables:
            stated, came = await _rate(ground, console, scenario, tables)
            rated_s = time.monotonic() - began
            problems = await _report(console, pools, tables, stated, came)
        problems += await _audit_from_topics(ground, console, pools)
        console.print(
            f"{stated.records:,} events in {rated_s:.0f} s with the worker's start and end, "
            f"{time.monotonic() - began:.0f} s in all.",
            highlight=False,
        )
        if keep:
            await _stay(ground, console)
    return problems


def _introduction(ground: Ground, scenario: Scenario, topics: int) -> str:
    settings, embedded = ground.settings, ground.embedded
    kafka = "Embedded Kafka" if embedded and embedded.bootstrap == settings.kafka_bootstrap else "Kafka"
    redis = "embedded Redis" if embedded and embedded.url == settings.redis_url.get_secret_value() else "Redis as named"
    return (
        f"{kafka} at {settings.kafka_bootstrap}, {redis}; {topics} topics {settings.topic_prefix}*.\n"
        f"{scenario.matches:,} matches of two weeks on {', '.join(DEFAULT_POOLS)}, rated by one worker:"
    )


async def _rate(
    ground: Ground, console: Console, scenario: Scenario, tables: Mapping[str, PoolTables]
) -> tuple[Stated, Answers]:
    stated = Stated()
    acknowledged = 0

    def sent(chunk: Sequence[Published]) -> None:
        nonlocal acknowledged
        acknowledged += len(chunk)

    def records() -> Iterator[Published]:
        for record in simulate(scenario):
            stated.add(record)
            yield record

    pace = Pace()

    async def publish() -> None:
        for day in by_day(records(), scenario.start_ms):
            of_days_before = acknowledged
            await send(day, ground.settings, sent=sent)
            await pace.reached(of_days_before)

    async with running_worker(ground) as worker:
        publishing = asyncio.create_task(publish())
        try:
            with shown_progress(console) as show:

                def seen(progress: Progress) -> None:
                    pace.saw(progress.answered)
                    show(progress)

                await watch(ground, worker, tables[UNPOOLED], lambda: acknowledged, publishing, seen)
        finally:
            publishing.cancel()
            await asyncio.wait({publishing}, timeout=_STOP_S)
        duplicates = await counted_by_worker(ground)
    came = await answers(ground.settings, tables, duplicates)
    stated.settle(came.matches)
    return stated, came


async def _report(
    console: Console, pools: dict[str, Pool], tables: dict[str, PoolTables], stated: Stated, came: Answers
) -> list[str]:
    pages = {name: await tables[name].leaderboard(1, _TOP) for name in pools}
    show_leaderboards(console, pools, pages)
    show_tallies(console, list(pools), stated, came)
    await _show_halved(console, pools, tables, came)
    ratings = await ratings_of(tables, {(event["pool"], event["player_id"]) for event in came.changes})
    found = audit(came.changes, {name: pool.rules.starting_rating for name, pool in pools.items()}, ratings)
    colour = "red" if found.difference else "green"
    console.print(audit_line(found), style=colour, markup=False, highlight=False, soft_wrap=True)
    problems = differences(stated, came)
    return [found.difference, *problems] if found.difference else problems


async def _audit_from_topics(ground: Ground, console: Console, pools: dict[str, Pool]) -> list[str]:
    """Do what `audit --from-topics` does for every pool, and return the differences."""
    console.print("\nThe same from Kafka alone, as `gammon-ratings audit POOL --from-topics` does for anyone:")
    problems = []
    for pool in pools.values():
        report = await audit_topics(ground.settings, pool, pools, console)
        if report.difference is None:
            console.print("\n".join(lines(report)), style="green", markup=False, highlight=False, soft_wrap=True)
        else:
            problems.append(report.difference.sentence)
            console.print(f"{pool.name}: {problems[-1]}", style="red", markup=False, highlight=False, soft_wrap=True)
    return problems


async def _show_halved(console: Console, pools: dict[str, Pool], tables: dict[str, PoolTables], came: Answers) -> None:
    """Explain a match that an analysis halved, if possible the last one that had been rated in full before."""
    if not came.halved:
        return
    chosen = max(reversed(came.halved), key=lambda halved: (halved.late and halved.moved, halved.late))
    loaded = await tables[chosen.pool].load(Wanted(match_ids=[chosen.match_id]))
    record = loaded.records.get(chosen.match_id)
    if record is not None:
        text = as_text(explain(pools[chosen.pool], record, now_ms()))
        console.print(
            f"\nOne match explained:\n{text}\n", markup=False, highlight=False, soft_wrap=not console.is_terminal
        )


async def _stay(ground: Ground, console: Console) -> None:
    """Tell how to look around, and wait for Ctrl-C where that needs the embedded server."""
    settings = ground.settings
    lines = [
        "To look around, in another terminal:",
        f"  export RATINGS_KAFKA_BOOTSTRAP={settings.kafka_bootstrap} RATINGS_TOPIC_PREFIX={settings.topic_prefix}",
        f"  export RATINGS_REDIS_NAMESPACE={settings.redis_namespace} RATINGS_GROUP={settings.group}",
    ]
    if ground.embedded is not None:
        lines.append(f"  export RATINGS_REDIS_URL={ground.embedded.url}")
    lines += ["  gammon-ratings leaderboard nardeon", f"The worker's log is {ground.directory / 'worker.log'}."]
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    if ground.embedded is not None:
        console.print("Ctrl-C ends the embedded server.")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
