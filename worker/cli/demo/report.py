"""What the demo ends with, as it is shown."""

from collections.abc import Mapping, Sequence

from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli.demo.audit import Audit
from worker.cli.demo.tally import NO_POOL, Answers, Stated, differences
from worker.cli.leaderboard import table as leaderboard_table
from worker.cli.simulation.scenario import IDENTITY_LINKED, MATCH_FINISHED, PRIZE_AWARDED
from worker.cli.words import count, shown_id, shown_rating
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
    for line in (_prizes_line(stated, answers), _links_line(stated, answers)):
        console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)
    if not differences(stated, answers):
        console.print(
            "Rated, excluded, awarded, linked, duplicate and dead letters are as the simulation states.",
            highlight=False,
        )
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
            _cell(*(counted.get((pool, MATCH_FINISHED), 0) for counted in (answers.duplicates, stated.duplicates))),
            f"{answers.pool_letters[pool]:,}",
        )
    return table


def _prizes_line(stated: Stated, answers: Answers) -> str:
    """Tell in a sentence or two what tournaments paid."""
    paid = _beside(len(answers.prizes), stated.awarded.total())
    line = f"Prizes: {paid} paid, {_again(PRIZE_AWARDED, stated, answers)}."
    if not answers.prizes:
        return line
    largest = max(answers.prizes, key=lambda event: (int(event["change"]), event["event_id"]))
    return (
        f"{line} {sum(event['change'] for event in answers.prizes):,} points in all, "
        f"the largest {largest['change']} for place {largest['cause']['place']} of "
        f"{shown_id(largest['cause']['tournament_id'])}: {shown_id(largest['player_id'])}, "
        f"{shown_rating(largest['before'])} to {shown_rating(largest['after'])}."
    )


def _links_line(stated: Stated, answers: Answers) -> str:
    """Tell in a sentence or two who signed up, and of one what was taken over."""
    linked = _beside(len(answers.links), stated.linked.total())
    over = [link for link in answers.links if link.took_over]
    histories = count(len(over), "history", "histories")
    line = f"Identities: {linked} linked, {_again(IDENTITY_LINKED, stated, answers)}, {histories} taken over."
    if not over:
        return line
    one = max(over, key=lambda link: (min(link.rated_games, link.games_since), link.anonymous_id))
    return (
        f"{line} {shown_id(one.anonymous_id)} became {shown_id(one.account_id)}, who took over a rating of "
        f"{shown_rating(one.rating)} and {count(one.rated_games, 'rated game')}, and has played "
        f"{one.games_since:,} since."
    )


def _again(topic: str, stated: Stated, answers: Answers) -> str:
    found, wanted = (
        sum(number for (_, of), number in counted.items() if of == topic)
        for counted in (answers.duplicates, stated.duplicates)
    )
    return f"{_beside(found, wanted)} repeated"


def _beside(found: int, stated: int) -> str:
    return f"{found:,}" if found == stated else f"{found:,} ({stated:,})"


def _letters(stated: Stated, answers: Answers) -> Table:
    table = Table("reason", title="Dead letters by reason")
    table.add_column("letters", justify="right")
    for reason in sorted({*stated.letters, *answers.letters}):
        table.add_row(reason, _cell(answers.letters[reason], stated.letters[reason]))
    return table


def _cell(found: int, stated: int) -> Text:
    return Text(_beside(found, stated), style="" if found == stated else "red")


def _by_pool(counted: Mapping[tuple[str, str], int]) -> dict[str, int]:
    pools: dict[str, int] = {}
    for (pool, _), number in counted.items():
        pools[pool] = pools.get(pool, 0) + number
    return pools
