"""A finished match: known already, excluded, or rated with both ratings as they stand."""

from typing import NamedTuple

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
        differing = _first_difference(content(match), known.content)
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
    return match._replace(winner=match.winner._replace(pr=None), loser=match.loser._replace(pr=None))


def _first_difference(match: MatchFinished, known: MatchFinished) -> str | None:
    return next((name for name in match._fields if getattr(match, name) != getattr(known, name)), None)


class _Seat(NamedTuple):
    """A player at the table: `row` as stored (None: never seen), `before` as the match finds it."""

    player_id: str
    row: Row | None
    before: Row


def _rate(rules: Ruleset, match: MatchFinished, delivery: Delivery, state: State) -> Outcome:
    winner, loser = _seat(rules, match.winner.id, state), _seat(rules, match.loser.id, state)
    settles_by_ms = match.finished_at_ms + rules.retention_days * DAY_MS
    waiting = state.parked.get(match.match_id)
    settlement = resolve_parked(rules, match, waiting, settles_by_ms)
    standings = _standing(rules, match, winner, state), _standing(rules, match, loser, state)
    result = rules.rate(match, *standings, halved=settlement.halved)
    more: dict[str, object] = {} if rules.pr_rule is None else {"revision": settlement.revision}
    won = _change(rules, match, winner, loser, result.winner, {"result": "win"}, more)
    lost = _change(rules, match, loser, winner, result.loser, {"result": "loss"}, more)
    rated = RatedRecord(
        _recorded(won), _recorded(lost), result.raw_change, settlement.revision, settlement.halved, settles_by_ms
    )
    rows = (
        (winner.player_id, _row(match, winner, won, delivery), winner.row),
        (loser.player_id, _row(match, loser, lost, delivery), loser.row),
    )
    waits = rules.pr_rule is not None and settlement.revision is None
    return Outcome(
        Kind.RATED,
        match.match_id,
        (winner.player_id, loser.player_id),
        match.finished_at_ms,
        rows=rows,
        on_leaderboard=frozenset(
            player_id for player_id, row, _ in rows if rules.on_leaderboard(row.rated_games, row.experience)
        ),
        record=RecordWrite(MatchRecord(content(match), delivery.source, None, rated), None),
        parked=None if rules.pr_rule is None else ParkedWrite(None, waiting),
        windows=() if rules.window_ms is None else (_window_entry(match, winner), _window_entry(match, loser)),
        changes=Changes(
            Cause("match-finished", match.match_id, {"match_id": match.match_id}),
            (won, lost),
            settles_by_ms if waits else None,
        ),
        letters=settlement.letters,
    )


def _seat(rules: Ruleset, player_id: str, state: State) -> _Seat:
    row = state.rows.get(player_id)
    return _Seat(player_id, row, row or Row(0, rules.starting_rating, 0, 0, None, ""))


def _standing(rules: Ruleset, match: MatchFinished, seat: _Seat, state: State) -> Standing:
    games = 0
    if rules.window_ms is not None:
        games = state.games_in_window(seat.player_id, match.finished_at_ms, match.match_id, rules.window_ms)
    return Standing(seat.before.rating, seat.before.rated_games, seat.before.experience, games)


def _change(
    rules: Ruleset,
    match: MatchFinished,
    seat: _Seat,
    opponent: _Seat,
    side: Side,
    outcome: dict[str, object],
    more: dict[str, object],
) -> Change:
    before = seat.before
    newest = before.newest_finished_at_ms
    return Change(
        seat.player_id,
        before.seq + 1,
        before.rating,
        side.after,
        late=newest is not None and match.finished_at_ms < newest,
        rated_games=before.rated_games + 1,
        experience=before.experience + rules.experience_gain(match) if rules.has_experience else None,
        details={
            **outcome,
            "opponent_id": opponent.player_id,
            "opponent_rating": opponent.before.rating,
            **side.terms,
            **more,
        },
    )


def _row(match: MatchFinished, seat: _Seat, change: Change, delivery: Delivery) -> Row:
    return Row(
        change.seq,
        change.after,
        change.rated_games,
        change.experience or 0,
        seat.before.newest_finished_at_ms if change.late else match.finished_at_ms,
        str(delivery.source),
    )


def _recorded(change: Change) -> RecordedSide:
    moved = change.after - change.before
    return RecordedSide(change.player_id, change.before, moved, moved, change.details)


def _window_entry(match: MatchFinished, seat: _Seat) -> WindowEntry:
    return WindowEntry(seat.player_id, match.finished_at_ms, match.match_id)
