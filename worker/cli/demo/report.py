"""What the demo ends with, as it is shown."""

from collections.abc import Mapping, Sequence

from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli.demo.audit import Audit
from worker.cli.demo.tally import NO_POOL, Answers, Stated, differences
from worker.cli.leaderboard import table as leaderboard_table
from worker.cli.words import count
from worker.rules.pools import Pool
from worker.tables.tables import Page


def show_leaderboards(console: Console, pools: Mapping[str, Pool], pages: Mapping[str, Page]) -> None:
    """Show a page of every pool."""
    console.print(
        Columns([leaderboard_table(pools[name], pages[name]) for name in pools if pages[name].places], padding=(1, 2))
    )


def show_tallies(console: Console, pools: Sequence[str], stated: Stated, answers: Answers) -> None:
    """Show what became of the matches, and the dead letters by reason, beside what the simulation states."""
    console.print(_matches(pools, stated, answers))
    console.print(_letters(stated, answers))
    if not differences(stated, answers):
        console.print("Rated, excluded, duplicate and dead letters are as the simulation states.", highlight=False)
    else:
        console.print("In brackets: what the simulation states.", style="red", highlight=False)


def audit_line(audit: Audit) -> str:
    """Return the audit in one sentence."""
    seen = f"{count(audit.changes, 'change')} of {count(audit.players, 'player')} in {count(audit.pools, 'pool')}"
    if audit.difference is not None:
        return f"audit: {seen}: {audit.difference}"
    return f"audit: {seen}: every chain unbroken, start + contributions = rating, no position missing"


def _matches(pools: Sequence[str], stated: Stated, answers: Answers) -> Table:
    table = Table("pool", title="What became of the matches")
    for heading in ("rated", "halved by PR", "excluded", "duplicate", "dead letters"):
        table.add_column(heading, justify="right")
    excluded, wanted = _by_pool(answers.excluded), _by_pool(stated.excluded)
    for pool in (*pools, NO_POOL):
        table.add_row(
            "no pool of ours" if pool == NO_POOL else pool,
            _cell(answers.rated[pool], stated.rated[pool]),
            f"{sum(halved.pool == pool for halved in answers.halved):,}",
            _cell(excluded.get(pool, 0), wanted.get(pool, 0)),
            _cell(answers.duplicates.get(pool, 0), stated.duplicates[pool]),
            f"{answers.pool_letters[pool]:,}",
        )
    return table


def _letters(stated: Stated, answers: Answers) -> Table:
    table = Table("reason", title="Dead letters by reason")
    table.add_column("letters", justify="right")
    for reason in sorted({*stated.letters, *answers.letters}):
        table.add_row(reason, _cell(answers.letters[reason], stated.letters[reason]))
    return table


def _cell(found: int, stated: int) -> Text:
    return Text(f"{found:,}") if found == stated else Text(f"{found:,} ({stated:,})", style="red")


def _by_pool(counted: Mapping[tuple[str, str], int]) -> dict[str, int]:
    pools: dict[str, int] = {}
    for (pool, _), number in counted.items():
        pools[pool] = pools.get(pool, 0) + number
    return pools
