"""One match explained, as a value: for people as text, for programs as JSON."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from worker.cli.explain import blitzgammon, gammon42, halving, nardeon, season0
from worker.cli.explain.arithmetic import Arithmetic, Seat, seats
from worker.cli.explain.exclusions import why_excluded
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
SETTLEMENT: Mapping[str, Callable[[Any, RatedRecord, int], tuple[str, ...]]] = {"blitzgammon": halving.settlement}
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
    """Everything there is to say about one match that was answered. `rated` and `arithmetic` are None if excluded."""

    pool: Pool
    record: MatchRecord
    verdict: str
    arithmetic: Arithmetic | None
    settled: tuple[str, ...]


def explain(pool: Pool, record: MatchRecord, now_ms: int) -> Explanation:
    """Explain a match of that pool as things stand at `now_ms` (UTC ms)."""
    rated = record.rated
    if rated is None:
        return Explanation(pool, record, f"It does not count, because {_why(record)}.", None, ())
    arithmetic = ARITHMETIC[pool.rules.name](pool.rules, record.content, rated)
    settlement = SETTLEMENT.get(pool.rules.name)
    settled = () if settlement is None else settlement(pool.rules, rated, now_ms)
    return Explanation(pool, record, f"It was rated by {arithmetic.rule}.", arithmetic, settled)


def as_text(explained: Explanation) -> str:
    """Return the explanation as paragraphs, with both ratings before and after at the end."""
    parts = [f"{_what_happened(explained)}\n{explained.verdict}"]
    arithmetic, rated = explained.arithmetic, explained.record.rated
    if arithmetic is not None and rated is not None:
        parts.append("\n".join(f"{shown_id(step.about)}: {step.says}" for step in arithmetic.steps))
        parts.append(_before_and_after(seats(rated)))
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
        return found
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
                "terms": dict(side.terms),
            }
            for side in (rated.winner, rated.loser)
        ],
    }
    if explained.pool.rules.pr_rule is not None:
        found["analysis"] = {
            "revision": rated.revision,
            "halved": rated.halved,
            "settles_by": format_instant(rated.settles_by_ms),
            "says": list(explained.settled),
        }
    return found


def _why(record: MatchRecord) -> str:
    return why_excluded(record.excluded_reason or "")


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
