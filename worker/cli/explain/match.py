"""One match explained, as a value: for people as text, for programs as JSON."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from worker.cli.explain import blitzgammon, gammon42, halving, nardeon, season0
from worker.cli.explain.apart import late, linked
from worker.cli.explain.arithmetic import Arithmetic, Seat, seats
from worker.cli.explain.exclusions import excluded
from worker.cli.words import moment, shown_id, shown_rating, signed
from worker.ratings.instants import format_instant
from worker.ratings.rows import MatchRecord, RatedRecord
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool

ARITHMETIC: Mapping[str, Callable[[Any, MatchFinished, RatedRecord], Arithmetic]] = {
    "gammon42": gammon42.explain,
    "blitzgammon": blitzgammon.explain,
    "nardeon": nardeon.explain,
    "season0": season0.explain,
}
"""The words of every rating system, by the name of its ruleset."""
SETTLEMENT: Mapping[str, Callable[[Any, RatedRecord, int], halving.Settlement]] = {"blitzgammon": halving.settlement}
"""The words for what analyses did, of those rating systems that have a PR rule."""

_ENDS = {
    "completed": "",
    "resigned": "; {loser} resigned",
    "left": "; {loser} left",
    "disconnected": "; {loser} lost the connection",
    "timed_out": "; {loser} ran out of time",
}
_OTHER_SETTINGS = (
    "The pool's settings have changed since, and would give other numbers now; what is told of them is as of today."
)


class Explanation(NamedTuple):
    """Everything there is to say about one match that was answered, at `now_ms`.

    `arithmetic` is None if it is excluded, `why` are the sentences about its exclusion. `apart` are what is out of the
    ordinary: for whom it was late, and who it counts for. `settled` is what analyses did to it.
    """

    pool: Pool
    record: MatchRecord
    now_ms: int
    verdict: str
    arithmetic: Arithmetic | None
    why: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()


def explain(pool: Pool, record: MatchRecord, now_ms: int) -> Explanation:
    """Explain a match of that pool as things stand at `now_ms` (UTC ms)."""
    rated = record.rated
    if rated is None:
        exclusion = excluded(pool.rules, record.content, record.excluded_reason or "")
        return Explanation(pool, record, now_ms, f"It does not count, because {exclusion.why}.", None, exclusion.says)
    arithmetic = ARITHMETIC[pool.rules.name](pool.rules, record.content, rated)
    settle = SETTLEMENT.get(pool.rules.name)
    settled: tuple[str, ...] = ()
    if settle is not None:
        settled, as_set_now = settle(pool.rules, rated, now_ms)
        arithmetic = arithmetic._replace(as_set_now=arithmetic.as_set_now and as_set_now)
    apart = (*linked(record.content, rated), *late(pool, rated))
    verdict = f"It was rated by {arithmetic.rule}."
    return Explanation(pool, record, now_ms, verdict, arithmetic, apart=apart, settled=settled)


def as_text(explained: Explanation) -> str:
    """Return the explanation as paragraphs, with both ratings before and after at the end."""
    parts = ["\n".join((_what_happened(explained), explained.verdict, *explained.why))]
    arithmetic, rated = explained.arithmetic, explained.record.rated
    if arithmetic is not None and rated is not None:
        parts.append("\n".join(f"{shown_id(step.about)}: {step.says}" for step in arithmetic.steps))
        parts.append(_before_and_after(seats(rated)))
        if explained.apart:
            parts.append("\n".join(explained.apart))
        if explained.settled:
            parts.append("\n".join(explained.settled))
        if not arithmetic.as_set_now:
            parts.append(_OTHER_SETTINGS)
    return "\n\n".join(parts)


def as_json(explained: Explanation) -> dict[str, Any]:
    """Return the explanation with all numbers unrounded."""
    record = explained.record
    match, rated = record.content, record.rated
    found: dict[str, Any] = {
        "pool": explained.pool.name,
        "ruleset": explained.pool.rules.name,
        "match_id": match.match_id,
        "finished_at": format_instant(match.finished_at_ms),
        "winner_id": match.winner.id,
        "loser_id": match.loser.id,
        "source": str(record.source),
        "verdict": explained.verdict,
        "excluded_reason": record.excluded_reason,
    }
    if explained.arithmetic is None or rated is None:
        return found | {"says": list(explained.why)}
    found |= {
        "position": record.position,
        "steps": [step._asdict() for step in explained.arithmetic.steps],
        "settings_unchanged": explained.arithmetic.as_set_now,
        "players": [
            {
                "player_id": side.player_id,
                "before": side.before,
                "change": side.change,
                "after": side.before + side.change,
                "standing": side.standing,
                "late": side.late,
                "terms": dict(side.terms),
            }
            for side in (rated.winner, rated.loser)
        ],
        "says": list(explained.apart),
    }
    if explained.pool.rules.pr_rule is not None:
        found["analysis"] = {**halving.as_json(rated, explained.now_ms), "says": list(explained.settled)}
    return found


def _what_happened(explained: Explanation) -> str:
    match = explained.record.content
    loser = shown_id(match.loser.id)
    ending = _ENDS.get(match.end_reason, "").format(loser=loser)
    return (
        f"{shown_id(match.winner.id)} beat {loser} in {explained.pool.name} on {moment(match.finished_at_ms)} "
        f"(match {shown_id(match.match_id)}{ending})."
    )


def _before_and_after(players: tuple[Seat, Seat]) -> str:
    rows = [("", "before", "change", "after")]
    rows += [(seat.name, shown_rating(seat.before), signed(seat.change), shown_rating(seat.after)) for seat in players]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )
