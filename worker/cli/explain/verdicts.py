"""What an event is to what is known, in words, by the outcome that a worker would come to."""

from typing import Any, NamedTuple

from worker.cli.explain.exclusions import NOTHING_CHANGED, RULES, excluded, why_excluded
from worker.cli.explain.told import Told
from worker.cli.words import count, moment, shown_id
from worker.ratings.events import MatchAnalyzed
from worker.ratings.instants import format_instant
from worker.ratings.match import content, first_difference
from worker.ratings.outcome import Kind, Outcome
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import MatchRecord, Parked
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool
from worker.stream.schema import echo

NOTHING = "Nothing changes, and nothing is owed a second answer."

PRS_OF_A_DUPLICATE = (
    " PRs are no part of the content, and those that this one brings count for nothing: match-analyzed is for them."
)


class Judged(NamedTuple):
    """An event of a topic (its real name), what was known before it, and what a worker would make of it.

    `event` is None where it cannot be decoded; then `outcome` has the refusal.
    """

    pool: Pool
    topic: str
    event: Any
    outcome: Outcome
    record: MatchRecord | None
    parked: Parked | None


class Difference(NamedTuple):
    """The first field by which two contents differ, as a JSON pointer, and both values as JSON has them."""

    field: str
    sent: Any
    known: Any


def tell(judged: Judged) -> Told:
    """Return what there is to say about an event that was judged."""
    refusal = judged.outcome.letters[0].refusal if judged.outcome.kind is Kind.REFUSED else None
    difference = None
    if refusal is not None:
        if refusal.reason is Reason.CONFLICT and isinstance(judged.event, MatchFinished) and judged.record is not None:
            difference = differing(judged.event, judged.record.content)
        says = _refused(judged, refusal, difference)
    elif isinstance(judged.event, MatchFinished):
        says = _match(judged, judged.event)
    else:
        says = _analysis(judged, judged.event)
    facts = {
        "pool": judged.pool.name,
        "topic": judged.topic,
        "outcome": judged.outcome.kind.value,
        "reason": None if refusal is None else refusal.reason.value,
        "message": None if refusal is None else refusal.message,
        "excluded_reason": judged.outcome.excluded_reason,
        "known_source": None if judged.record is None else str(judged.record.source),
        "difference": None if difference is None else difference._asdict(),
    }
    return Told(tuple(says), facts)


def differing(match: MatchFinished, known: MatchFinished) -> Difference | None:
    """Return the first difference that makes a match a conflict with the known one of its match_id, None if none."""
    name = first_difference(content(match), known)
    if name is None:
        return None
    if name == "finished_at":
        return Difference("/finished_at", format_instant(match.finished_at_ms), format_instant(known.finished_at_ms))
    sent, other = getattr(match, name), getattr(known, name)
    if isinstance(sent, Player):
        if sent.id != other.id:
            return Difference(f"/{name}/player_id", sent.id, other.id)
        return Difference(f"/{name}/kind", sent.kind, other.kind)
    return Difference(f"/{name}", sent, other)


def _refused(judged: Judged, refusal: Refusal, difference: Difference | None) -> list[str]:
    event = judged.event
    letter = f"becomes a dead letter in {judged.topic}.dlt (reason {refusal.reason.value}), and nothing changes"
    says = [f"This is not acceptable: it {letter}. {refusal.message}"]
    if difference is not None and judged.record is not None:
        says = [
            f"The match {shown_id(event.match_id)} is known in {judged.pool.name} with other content, so this one is a "
            f"conflict: it {letter}. {_answered(judged.record)} stands.",
            f"The first field that differs is {difference.field}: {_value(difference.sent)} here, "
            f"{_value(difference.known)} in the match that is known. A new match needs a new match_id.",
        ]
    elif isinstance(event, MatchAnalyzed) and judged.record is not None:
        match, rated = judged.record.content, judged.record.rated
        if refusal.reason is Reason.PLAYERS_MISMATCH:
            says.append(
                f"The players of {shown_id(match.match_id)} are {_both(match.winner.id, match.loser.id)}; the analysis "
                f"names {_both(*(player.id for player in event.players))}."
            )
        elif refusal.reason is Reason.TOO_LATE and rated is not None:
            says.append(f"The match's settles_by is {moment(rated.settles_by_ms)}.")
    return says


def _match(judged: Judged, match: MatchFinished) -> list[str]:
    name, pool, outcome = shown_id(match.match_id), judged.pool, judged.outcome
    if outcome.kind is Kind.DUPLICATE and judged.record is not None:
        again = (
            f"This is the match {name} again, with the same content: a duplicate. {_answered(judged.record)} stands."
        )
        brings = match.winner.pr is not None or match.loser.pr is not None
        return [again, NOTHING + (PRS_OF_A_DUPLICATE if brings and pool.rules.pr_rule is not None else "")]
    new = f"The match {name} is not known in {pool.name} yet."
    waiting = 0 if judged.parked is None else len(judged.parked.analyses)
    if outcome.kind is Kind.EXCLUDED:
        exclusion = excluded(pool.rules, match, outcome.excluded_reason or "")
        ignored = (
            f" {count(waiting, 'analysis that waits', 'analyses that wait')} for it would do nothing."
            if waiting
            else ""
        )
        return [
            f"{new} It would not count, because {exclusion.why}.",
            exclusion.says[0],
            f"{NOTHING_CHANGED.replace('changed', 'would change')}{ignored}",
        ]
    says = [
        f"{new} It would be rated, because no rule excludes it, with both ratings as they stand when a worker applies "
        f"it: so the numbers are not told here. {RULES[pool.rules.name]}"
    ]
    rated = None if outcome.record is None else outcome.record.record.rated
    late = [side.player_id for side in (rated.winner, rated.loser) if side.late] if rated is not None else []
    if late:
        says.append(f"It would be late for {' and for '.join(map(shown_id, late))}, and nothing older be rated anew.")
    if waiting and rated is not None:
        says.append(_settled_by(waiting, rated.revision, len(outcome.letters)))
    return says


def _settled_by(waiting: int, revision: int | None, letters: int) -> str:
    text = f"{count(waiting, 'PR analysis waits', 'PR analyses wait')} for it"
    if revision:
        text += f", and revision {revision} would settle it at once"
    if letters:
        refused = "a dead letter" if letters == 1 else "dead letters"
        text += f"; {count(letters, 'analysis', 'analyses')} would become {refused}"
    return f"{text}."


def _analysis(judged: Judged, analysis: MatchAnalyzed) -> list[str]:
    name, kind, record = shown_id(analysis.match_id), judged.outcome.kind, judged.record
    about = f"Revision {analysis.revision} of the analysis of {name}"
    if record is None or record.rated is None or kind is Kind.IGNORED:
        return _without_rated_match(judged, about, name)
    rated = record.rated
    stands = "the PRs that came with the match" if rated.revision == 0 else f"revision {rated.revision}"
    if kind is Kind.DUPLICATE:
        return [
            f"{about} is a duplicate: the match stands by {stands}, which is not lower. {NOTHING}",
            f"A correction needs a revision higher than {rated.revision}.",
        ]
    written = judged.outcome.record
    counts = (
        "half"
        if written is not None and written.record.rated is not None and written.record.rated.halved
        else "in full"
    )
    counted = "half" if rated.halved else "in full"
    settles = f"take the place of {stands}" if rated.revision is not None else "be the first to settle the match"
    return [
        f"{about} would {settles}: by its PRs the change counts {counts}, and now it counts {counted}.",
        f"The difference would go to the ratings that both have when a worker applies it. That counts for what is "
        f"published by {moment(rated.settles_by_ms)} (by the record's timestamp) and is too late for what is not.",
    ]


def _without_rated_match(judged: Judged, about: str, name: str) -> list[str]:
    kind, record, pool = judged.outcome.kind, judged.record, judged.pool
    if kind is Kind.IGNORED and record is not None and record.excluded_reason:
        return [f"{about} does nothing: the match does not count, because {why_excluded(record.excluded_reason)}."]
    if kind is Kind.IGNORED:
        return [f"{about} does nothing: PRs change no rating in {pool.name}, a {pool.rules.name} pool."]
    if kind is Kind.DUPLICATE:
        return [f"{about}, of these two players, waits for the match already: this is a duplicate. {NOTHING}"]
    if kind is Kind.PUSHED_OUT:
        return [f"{about} would not be kept: as many analyses of {name} as are kept wait for the match already."]
    return [
        f"The match {name} has not come to {pool.name} yet. {about} would wait for it, and change nothing until then."
    ]


def _answered(record: MatchRecord) -> str:
    """Return the answer that a known match has had, as the beginning of a sentence."""
    if record.rated is None:
        return f"What came as {record.source} and was excluded ({record.excluded_reason})"
    return f"What came as {record.source} and was rated at position {record.position}"


def _value(value: Any) -> str:
    return "nothing" if value is None else echo(value)


def _both(first: str, second: str) -> str:
    return f"{shown_id(first)} and {shown_id(second)}"
