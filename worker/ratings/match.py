"""A finished match: known already, excluded, or rated with both ratings as they stand."""

from msgspec.structs import replace

from worker.ratings.analysis import resolve_parked
from worker.ratings.delivery import Delivery
from worker.ratings.outcome import Cause, Change, Changes, Kind, Outcome, ParkedWrite, RecordWrite, refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import MatchRecord, RatedRecord, RecordedSide, Row, WindowEntry
from worker.ratings.state import State
from worker.rules.match import MatchFinished
from worker.rules.ruleset import Ruleset, Side, Standing

DAY_MS = 86_400_000

BEHIND_HORIZON = Refusal(
    Reason.TOO_LATE, "The match at /finished_at ended before this pool's horizon, where repeats can no longer be told."
)


def decide_match(rules: Ruleset, match: MatchFinished, delivery: Delivery, state: State) -> Outcome:
    """Return what one `match-finished` event does to its pool."""
    named = (match.match_id, (match.winner.id, match.loser.id), match.finished_at_ms)
    if match.finished_at_ms < state.horizon_ms:
        return refuse(*named, delivery, BEHIND_HORIZON)
    known = state.records.get(match.match_id)
    if known is not None:
        differing = first_difference(content(match), known.content)
        if differing is None:
            return Outcome(Kind.DUPLICATE, *named)
        message = f"This match_id is known with other content, first at /{differing}: a new match needs a new match_id."
        return refuse(*named, delivery, Refusal(Reason.CONFLICT, message))
    reason = rules.exclusion(match)
    if reason is None:
        return _rate(rules, match, delivery, state)
    waiting = state.parked.get(match.match_id)
    return Outcome(
        Kind.EXCLUDED,
        *named,
        record=RecordWrite(MatchRecord(content(match), delivery.source, reason, None), None),
        parked=None if rules.pr_rule is None else ParkedWrite(None, waiting),
        excluded_reason=reason,
        ignored=0 if waiting is None else len(waiting.analyses),
    )


def content(match: MatchFinished) -> MatchFinished:
    """Return what makes two events the same match: everything but the PRs."""
    if match.winner.pr is None and match.loser.pr is None:
        return match
    return replace(match, winner=replace(match.winner, pr=None), loser=replace(match.loser, pr=None))


def first_difference(match: MatchFinished, known: MatchFinished) -> str | None:
    """Return the wire name of the first field whose content is another, None where all are the same."""
    differing = (name for name in match.__struct_fields__ if getattr(match, name) != getattr(known, name))
    return next((name.removesuffix("_ms") for name in differing), None)


def _rate(rules: Ruleset, match: MatchFinished, delivery: Delivery, state: State) -> Outcome:
    winner_row, loser_row = state.rows.get(match.winner.id), state.rows.get(match.loser.id)
    winner, loser = winner_row or _new(rules), loser_row or _new(rules)
    settles_by_ms = match.finished_at_ms + rules.retention_days * DAY_MS
    waiting = state.parked.get(match.match_id)
    settlement = resolve_parked(rules, match, waiting, settles_by_ms)
    result = rules.rate(
        match,
        _standing(rules, match, match.winner.id, winner, state),
        _standing(rules, match, match.loser.id, loser, state),
        halved=settlement.halved,
    )
    won = _change(rules, match, match.winner.id, winner, result.winner, _details("win", match.loser.id, loser))
    lost = _change(rules, match, match.loser.id, loser, result.loser, _details("loss", match.winner.id, winner))
    if rules.pr_rule is not None:
        won.details["revision"] = lost.details["revision"] = settlement.revision
    rated = RatedRecord(
        _recorded(won),
        _recorded(lost),
        result.raw_change,
        settlement.revision,
        settlement.halved,
        settles_by_ms,
        settlement.prs,
    )
    source = str(delivery.source)
    rows = (
        (won.player_id, _row(match, winner, won, source), winner_row),
        (lost.player_id, _row(match, loser, lost, source), loser_row),
    )
    waits = rules.pr_rule is not None and settlement.revision is None
    cause = Cause("match-finished", match.match_id, {"match_id": match.match_id})
    return Outcome(
        Kind.RATED,
        match.match_id,
        (won.player_id, lost.player_id),
        match.finished_at_ms,
        rows=rows,
        on_leaderboard=_shown(rules, rows),
        record=RecordWrite(MatchRecord(content(match), delivery.source, None, rated), None),
        parked=None if rules.pr_rule is None else ParkedWrite(None, waiting),
        windows=() if rules.window_ms is None else _window_entries(match),
        changes=Changes(cause, (won, lost), settles_by_ms if waits else None),
        letters=settlement.letters,
    )


def _new(rules: Ruleset) -> Row:
    return Row(0, rules.starting_rating, 0, 0, None, "")


def _standing(rules: Ruleset, match: MatchFinished, player_id: str, row: Row, state: State) -> Standing:
    games = 0
    if rules.window_ms is not None:
        games = state.games_in_window(player_id, match.finished_at_ms, match.match_id, rules.window_ms)
    return Standing(row.rating, row.rated_games, row.experience, games)


def _details(result: str, opponent_id: str, opponent: Row) -> dict[str, object]:
    return {"result": result, "opponent_id": opponent_id, "opponent_rating": opponent.rating}


def _change(
    rules: Ruleset, match: MatchFinished, player_id: str, before: Row, side: Side, details: dict[str, object]
) -> Change:
    newest = before.newest_finished_at_ms
    details.update(side.terms)
    return Change(
        player_id,
        before.seq + 1,
        before.rating,
        side.after,
        newest is not None and match.finished_at_ms < newest,
        before.rated_games + 1,
        before.experience + rules.experience_gain(match) if rules.has_experience else None,
        details,
    )


def _row(match: MatchFinished, before: Row, change: Change, source: str) -> Row:
    newest = before.newest_finished_at_ms if change.late else match.finished_at_ms
    return Row(change.seq, change.after, change.rated_games, change.experience or 0, newest, source)


def _shown(rules: Ruleset, rows: tuple[tuple[str, Row, Row | None], ...]) -> frozenset[str]:
    return frozenset([name for name, row, _ in rows if rules.on_leaderboard(row.rated_games, row.experience)])


def _recorded(change: Change) -> RecordedSide:
    moved = change.after - change.before
    return RecordedSide(change.player_id, change.before, moved, moved, change.details, change.late)


def _window_entries(match: MatchFinished) -> tuple[WindowEntry, ...]:
    return (
        WindowEntry(match.winner.id, match.finished_at_ms, match.match_id),
        WindowEntry(match.loser.id, match.finished_at_ms, match.match_id),
    )
