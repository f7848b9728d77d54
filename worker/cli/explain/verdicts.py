"""What an event is to what is known, in words, by the outcome that a worker would come to."""

from worker.cli.explain import verdicts_on_analyses, verdicts_on_claims
from worker.cli.explain.apart import linked
from worker.cli.explain.exclusions import NOTHING_CHANGED, RULES, excluded
from worker.cli.explain.judged import NOTHING, Difference, Judged, answered, both, differing
from worker.cli.explain.told import Told
from worker.cli.words import count, moment, shown_id
from worker.ratings.events import IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import Link
from worker.rules.match import MatchFinished

PRS_OF_A_DUPLICATE = (
    " PRs are no part of the content, and those that this one brings count for nothing: match-analyzed is for them."
)


def tell(judged: Judged) -> Told:
    """Return what there is to say about an event that was judged."""
    refusal = judged.outcome.letters[0].refusal if judged.outcome.kind is Kind.REFUSED else None
    difference = _difference(judged) if refusal is not None and refusal.reason is Reason.CONFLICT else None
    known = judged.known.record or judged.known.prize or _link(judged)
    facts = {
        "pool": judged.pool.name,
        "topic": judged.topic,
        "outcome": judged.outcome.kind.value,
        "reason": None if refusal is None else refusal.reason.value,
        "message": None if refusal is None else refusal.message,
        "excluded_reason": judged.outcome.excluded_reason,
        "known_source": None if known is None else str(known.source),
        "difference": None if difference is None else difference._asdict(),
    }
    says = _says(judged) if refusal is None else _refused(judged, refusal, difference)
    return Told(tuple(says), facts)


def _says(judged: Judged) -> list[str]:
    match judged.event:
        case MatchFinished() as event:
            return _match(judged, event)
        case MatchAnalyzed() as event:
            return verdicts_on_analyses.says(judged, event)
        case TournamentPrizeAwarded() as event:
            return verdicts_on_claims.on_prize(judged, event)
        case IdentityLinked() as event:
            return verdicts_on_claims.on_link(judged, event)
        case None:
            raise ValueError("an event is either decoded or refused")


def _difference(judged: Judged) -> Difference | None:
    event, known = judged.event, judged.known
    if isinstance(event, MatchFinished) and known.record is not None:
        return differing(event, known.record.content)
    if isinstance(event, TournamentPrizeAwarded) and known.prize is not None:
        return verdicts_on_claims.differing_prize(event, known.prize)
    return None


def _link(judged: Judged) -> Link | None:
    return next(iter(judged.known.links.values()), None) if isinstance(judged.event, IdentityLinked) else None


def _refused(judged: Judged, refusal: Refusal, difference: Difference | None) -> list[str]:
    event, known = judged.event, judged.known
    letter = f"becomes a dead letter in {judged.topic}.dlt (reason {refusal.reason.value}), and nothing changes"
    says = [f"This is not acceptable: it {letter}. {refusal.message}"]
    if difference is not None and known.record is not None:
        return [
            f"The match {shown_id(known.record.content.match_id)} is known in {judged.pool.name} with other content, "
            f"so this one is a conflict: it {letter}. {answered(known.record)} stands.",
            f"The first field that differs is {difference}. A new match needs a new match_id.",
        ]
    if difference is not None and known.prize is not None:
        return [
            f"The prize of {shown_id(known.prize.tournament_id)} for {shown_id(known.prize.player_id)} is known in "
            f"{judged.pool.name} with other content, so this one is a conflict: it {letter}. {answered(known.prize)} "
            "stands.",
            f"The first field that differs is {difference}. A prize is paid once.",
        ]
    if isinstance(event, MatchAnalyzed) and known.record is not None:
        match, rated = known.record.content, known.record.rated
        if refusal.reason is Reason.PLAYERS_MISMATCH:
            says.append(
                f"The players of {shown_id(match.match_id)} are {both(match.winner.id, match.loser.id)}; the analysis "
                f"names {both(event.players[0].id, event.players[1].id)}."
            )
        elif refusal.reason is Reason.TOO_LATE and rated is not None:
            says.append(f"The match's settles_by is {moment(rated.settles_by_ms)}.")
    elif refusal.reason in (Reason.ALREADY_LINKED, Reason.SELF_MATCH):
        says += verdicts_on_claims.links_that_stand(known.links)
    return says


def _match(judged: Judged, match: MatchFinished) -> list[str]:
    name, pool, outcome, known = shown_id(match.match_id), judged.pool, judged.outcome, judged.known
    if outcome.kind is Kind.DUPLICATE and known.record is not None:
        again = f"This is the match {name} again, with the same content: a duplicate. {answered(known.record)} stands."
        brings = match.winner.pr is not None or match.loser.pr is not None
        return [again, NOTHING + (PRS_OF_A_DUPLICATE if brings and pool.rules.pr_rule is not None else "")]
    new = f"The match {name} is not known in {pool.name} yet."
    waiting = 0 if known.parked is None else len(known.parked.analyses)
    if outcome.kind is Kind.EXCLUDED:
        exclusion = excluded(pool.rules, match, outcome.excluded_reason or "")
        waits = count(waiting, "analysis that waits", "analyses that wait")
        ignored = f" {waits} for it would do nothing." if waiting else ""
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
    if rated is None:
        return says
    says += linked(match, rated)
    late = [shown_id(side.player_id) for side in (rated.winner, rated.loser) if side.late]
    if late:
        says.append(f"It would be late for {' and for '.join(late)}, and nothing that was rated would be rated anew.")
    if waiting:
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
