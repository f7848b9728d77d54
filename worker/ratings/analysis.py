"""PR analyses: parked until their match comes, and then one exchange of the match's own contribution."""

from msgspec import Struct
from msgspec.structs import replace

from worker.ratings.delivery import Delivery
from worker.ratings.events import MatchAnalyzed
from worker.ratings.instants import DAY_MS
from worker.ratings.outcome import Cause, Change, Changes, Kind, Letter, Outcome, ParkedWrite, RecordWrite, refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import Exchange, Exchanged, Parked, ParkedAnalysis, Prs, RatedRecord, RecordedSide, Row
from worker.ratings.state import State
from worker.rules.match import MatchFinished
from worker.rules.ruleset import PrRule, Ruleset

PARKED_PAIRS = 4
"""Pairs of players for which analyses of one match are parked; bounds what a publisher's mistake can store."""
PARKED_REVISIONS = 8
"""Highest revisions kept for each of those pairs."""
EXCHANGES = 8
"""Newest analyses of which a match's record keeps what they did, for whoever asks; bounds its size."""

BEHIND_HORIZON = Refusal(
    Reason.TOO_LATE, "The analysis at /analyzed_at is from before this pool's horizon; its match can no longer be told."
)
MISMATCH = Refusal(
    Reason.PLAYERS_MISMATCH, "The ids at /players are not the two players of this match; send the match's own ids."
)
AFTER_SETTLES_BY = Refusal(
    Reason.TOO_LATE, "The analysis was published after the match's settles_by; the full change stands."
)


class Settlement(Struct, frozen=True, gc=False):
    """How a match is settled when it comes, and by which PRs: revision None while an analysis is awaited."""

    revision: int | None
    halved: bool
    letters: tuple[Letter, ...] = ()
    prs: Prs | None = None


UNSETTLED = Settlement(None, False)


def records_kept_ms(rules: Ruleset) -> int:
    """Return for how many ms behind the horizon a record is kept: where there is a PR rule, one more retention.

    So an analysis that comes up to that late finds its match, and is told that it is too late.
    """
    return rules.retention_days * DAY_MS if rules.pr_rule is not None else 0


def resolve_parked(rules: Ruleset, match: MatchFinished, parked: Parked | None, settles_by_ms: int) -> Settlement:
    """Choose what settles a match that is rated now: the highest parked revision, else the PRs it brought itself."""
    if rules.pr_rule is None:
        return UNSETTLED
    pair = frozenset((match.winner.id, match.loser.id))
    best: ParkedAnalysis | None = None
    letters = []
    for analysis in parked.analyses if parked is not None else ():
        if analysis.pair() != pair:
            letters.append(Letter(analysis.delivery, MISMATCH))
        elif analysis.delivery.timestamp_ms > settles_by_ms:
            letters.append(Letter(analysis.delivery, AFTER_SETTLES_BY))
        elif best is None or analysis.revision > best.revision:
            best = analysis
    if best is not None:
        prs = _prs(best, match.winner.id)
        return Settlement(best.revision, rules.pr_rule.halves(*prs), tuple(letters), prs)
    prs = (match.winner.pr, match.loser.pr)
    if None in prs:
        return Settlement(None, False, tuple(letters))
    return Settlement(0, rules.pr_rule.halves(*prs), tuple(letters), prs)


def decide_analysis(rules: Ruleset, analysis: MatchAnalyzed, delivery: Delivery, state: State) -> Outcome:
    """Return what one `match-analyzed` event does to its pool."""
    first, second = analysis.players
    named = (analysis.match_id, (first.id, second.id), analysis.analyzed_at_ms)
    if analysis.analyzed_at_ms < state.horizon_ms:
        return refuse(*named, delivery, BEHIND_HORIZON)
    if rules.pr_rule is None:
        return Outcome(Kind.IGNORED, *named)
    record = state.records.get(analysis.match_id)
    if record is None:
        return _park(analysis, delivery, state.parked.get(analysis.match_id))
    rated = record.rated
    if rated is None or rated.raw_change is None:
        return Outcome(Kind.IGNORED, *named)
    if {first.id, second.id} != {record.content.winner.id, record.content.loser.id}:
        return refuse(*named, delivery, MISMATCH)
    if delivery.timestamp_ms > rated.settles_by_ms:
        return refuse(*named, delivery, AFTER_SETTLES_BY)
    if rated.revision is not None and analysis.revision <= rated.revision:
        return Outcome(Kind.DUPLICATE, *named)
    prs = _prs(analysis, record.content.winner.id)
    halved = rules.pr_rule.halves(*prs)
    target = rules.pr_rule.settle(rated.raw_change, int(rated.winner.before), int(rated.loser.before), halved=halved)
    repeated: dict[str, object] = {"halved": halved, "revision": analysis.revision}
    won = _exchange(rules, rules.pr_rule, rated.winner, target.winner_after, repeated, delivery, state)
    lost = _exchange(rules, rules.pr_rule, rated.loser, target.loser_after, repeated, delivery, state)
    exchange = Exchange(analysis.revision, halved, prs, analysis.analyzed_at_ms, won.moved, lost.moved)
    exchanges, left_out = _noted(rated, exchange)
    settled = replace(
        rated,
        winner=won.side,
        loser=lost.side,
        revision=analysis.revision,
        halved=halved,
        exchanges=exchanges,
        exchanges_left_out=left_out,
    )
    return Outcome(
        Kind.SETTLED,
        *named,
        rows=(won.row, lost.row),
        on_leaderboard=frozenset((won.side.player_id, lost.side.player_id)),
        record=RecordWrite(replace(record, rated=settled), record),
        changes=Changes(
            Cause(
                "match-analyzed",
                analysis.match_id,
                {"match_id": analysis.match_id, "revision": analysis.revision},
            ),
            (won.change, lost.change),
        ),
    )


def _prs(analysis: MatchAnalyzed | ParkedAnalysis, winner_id: str) -> Prs:
    first, second = analysis.players
    return (first.pr, second.pr) if first.id == winner_id else (second.pr, first.pr)


def _noted(rated: RatedRecord, exchange: Exchange) -> tuple[tuple[Exchange, ...], int]:
    """Return the exchanges that a record keeps with this one, and how many that leaves out in all."""
    all_kept = (*rated.exchanges, exchange)
    return all_kept[-EXCHANGES:], rated.exchanges_left_out + max(0, len(all_kept) - EXCHANGES)


class _Step(Struct, frozen=True, gc=False):
    side: RecordedSide
    moved: Exchanged
    row: tuple[str, Row, Row | None]
    change: Change


def _exchange(
    rules: Ruleset,
    rule: PrRule,
    side: RecordedSide,
    target_after: int,
    repeated: dict[str, object],
    delivery: Delivery,
    state: State,
) -> _Step:
    """Replace what the match has moved this player by so far with what it should have, on the current rating."""
    current = state.rows[side.player_id]
    target = target_after - int(side.before)
    after, floored_by = rule.exchange(int(current.rating), int(side.standing), target)
    row = replace(current, seq=current.seq + 1, rating=after, last_source=str(delivery.source))
    details = {**side.terms, **repeated, "floored_by": floored_by}
    experience = row.experience if rules.has_experience else None
    change = Change(side.player_id, row.seq, current.rating, after, False, row.rated_games, experience, details)
    return _Step(
        replace(side, standing=side.standing + after - current.rating),
        Exchanged(current.rating, after, floored_by),
        (side.player_id, row, current),
        change,
    )


def _park(analysis: MatchAnalyzed, delivery: Delivery, parked: Parked | None) -> Outcome:
    named = (
        analysis.match_id,
        (analysis.players[0].id, analysis.players[1].id),
        analysis.analyzed_at_ms,
    )
    new = ParkedAnalysis(analysis.players, analysis.revision, analysis.analyzed_at_ms, delivery)
    waiting = parked.analyses if parked is not None else ()
    pairs = {other.pair() for other in waiting}
    same = sorted((other for other in waiting if other.pair() == new.pair()), key=lambda other: other.revision)
    if any(other.revision == new.revision for other in same):
        return Outcome(Kind.DUPLICATE, *named)
    if new.pair() not in pairs and len(pairs) >= PARKED_PAIRS:
        return Outcome(Kind.PUSHED_OUT, *named)
    pushed_out: tuple[ParkedAnalysis, ...] = ()
    if len(same) >= PARKED_REVISIONS:
        if new.revision < same[0].revision:
            return Outcome(Kind.PUSHED_OUT, *named)
        pushed_out = (same[0],)
    kept = tuple(other for other in waiting if other not in pushed_out)
    return Outcome(
        Kind.PARKED,
        *named,
        parked=ParkedWrite(Parked(str(delivery.source), (*kept, new)), parked),
        record_absent=True,
        pushed_out=len(pushed_out),
    )
