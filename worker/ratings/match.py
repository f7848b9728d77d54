"""A finished match: known already, excluded, or rated with both ratings as they stand."""

from msgspec.structs import replace

from worker.ratings.analysis import resolve_parked
from worker.ratings.delivery import Delivery
from worker.ratings.instants import DAY_MS
from worker.ratings.outcome import Cause, Change, Changes, Kind, Outcome, ParkedWrite, RecordWrite, refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import MatchRecord, RatedRecord, RecordedSide, Row, WindowEntry, new_row
from worker.ratings.state import State
from worker.rules.match import MatchFinished
from worker.rules.ruleset import Ruleset, Side, Standing

BEHIND_HORIZON = Refusal(
    Reason.TOO_LATE, "The match at /finished_at ended before this pool's horizon, where repeats can no longer be told."
)

AGAINST_ONESELF = Refusal(
    Reason.SELF_MATCH,
    "The ids at /winner/player_id and /loser/player_id are linked to each other: they are one player.",
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
    winner_id, loser_id = state.account_of(match.winner.id), state.account_of(match.loser.id)
    if winner_id == loser_id:
        return refuse(*named, delivery, AGAINST_ONESELF)
    reason = rules.exclusion(match)
    if reason is None:
        return _rate(rules, match, winner_id, loser_id, delivery, state)
    waiting = state.parked.get(match.match_id)
    return Outcome(
        Kind.EXCLUDED,
        *named,
        record=RecordWrite(MatchRecord(content(match), delivery.source, reason, None), None),
        parked=None if rules.pr_rule is None else ParkedWrite(None, waiting),
        excluded_reason=reason,
        unlinked=match.winner.id if rules.has_links and match.winner.id not in state.links else "",
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


def _rate(
    rules: Ruleset, match: MatchFinished, winner_id: str, loser_id: str, delivery: Delivery, state: State
) -> Outcome:
    winner_row, loser_row = state.rows.get(winner_id), state.rows.get(loser_id)
    winner, loser = winner_row or new_row(rules.starting_rating), loser_row or new_row(rules.starting_rating)
    settles_by_ms = match.finished_at_ms + rules.retention_days * DAY_MS
    waiting = state.parked.get(match.match_id)
    settlement = resolve_parked(rules, match, waiting, settles_by_ms)
    result = rules.rate(
        match,
        _standing(rules, match, winner_id, winner, state),
        _standing(rules, match, loser_id, loser, state),
        halved=settlement.halved,
    )
    won = _change(rules, match, winner_id, winner, result.winner, _details("win", loser_id, loser))
    lost = _change(rules, match, loser_id, loser, result.loser, _details("loss", winner_id, winner))
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
        (winner_id, _row(match, winner, won, source), winner_row),
        (loser_id, _row(match, loser, lost, source), loser_row),
    )
    waits = rules.pr_rule is not None and settlement.revision is None
    cause = Cause("match-finished", match.match_id, {"match_id": match.match_id})
    return Outcome(
        Kind.RATED,
        match.match_id,
        _named(match, winner_id, loser_id),
        match.finished_at_ms,
        rows=rows,
        on_leaderboard=_shown(rules, rows),
        record=RecordWrite(MatchRecord(content(match), delivery.source, None, rated), None),
        parked=None if rules.pr_rule is None else ParkedWrite(None, waiting),
        windows=() if rules.window_ms is None else _window_entries(match, winner_id, loser_id),
        changes=Changes(cause, (won, lost), settles_by_ms if waits else None),
        letters=settlement.letters,
    )


def _named(match: MatchFinished, winner_id: str, loser_id: str) -> tuple[str, ...]:
    """Return the ids that the match is about: as sent, and the accounts they count for."""
    if winner_id == match.winner.id and loser_id == match.loser.id:
        return (winner_id, loser_id)
    return tuple(dict.fromkeys((winner_id, loser_id, match.winner.id, match.loser.id)))


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


def _window_entries(match: MatchFinished, winner_id: str, loser_id: str) -> tuple[WindowEntry, ...]:
    return (
        WindowEntry(winner_id, match.finished_at_ms, match.match_id),
        WindowEntry(loser_id, match.finished_at_ms, match.match_id),
    )
