"""A tournament's prize: a flat amount, once for each tournament and player, outside windows and counts."""

from msgspec.structs import replace

from worker.ratings.delivery import Delivery
from worker.ratings.events import TournamentPrizeAwarded
from worker.ratings.outcome import Cause, Change, Changes, Kind, Outcome, refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import Prize, new_row
from worker.ratings.state import State
from worker.rules.ruleset import Ruleset

BEHIND_HORIZON = Refusal(
    Reason.TOO_LATE,
    "The prize at /awarded_at is from before this pool's horizon; nothing that old is applied any more.",
)


def decide_prize(rules: Ruleset, awarded: TournamentPrizeAwarded, delivery: Delivery, state: State) -> Outcome:
    """Return what one `tournament-prize-awarded` event does to its pool."""
    player_id = awarded.player_id
    named = ("", (player_id,), awarded.awarded_at_ms)
    if awarded.awarded_at_ms < state.horizon_ms:
        return refuse(*named, delivery, BEHIND_HORIZON)
    paid = state.prizes.get((awarded.tournament_id, player_id))
    if paid is not None:
        if (paid.place, paid.amount) == (awarded.place, awarded.amount):
            return Outcome(Kind.DUPLICATE, *named)
        return refuse(*named, delivery, _conflict(awarded, paid))
    current = state.rows.get(player_id)
    before = current or new_row(rules.starting_rating)
    row = replace(before, seq=before.seq + 1, rating=before.rating + awarded.amount, last_source=str(delivery.source))
    change = Change(player_id, row.seq, before.rating, row.rating, False, row.rated_games, None, {})
    return Outcome(
        Kind.AWARDED,
        *named,
        rows=((player_id, row, current),),
        on_leaderboard=frozenset((player_id,) if rules.on_leaderboard(row.rated_games, row.experience) else ()),
        changes=Changes(
            Cause(
                "tournament-prize-awarded",
                awarded.tournament_id,
                {"tournament_id": awarded.tournament_id, "place": awarded.place},
            ),
            (change,),
        ),
        prize=Prize(
            awarded.tournament_id,
            player_id,
            awarded.place,
            awarded.amount,
            awarded.awarded_at_ms,
            delivery.source,
            before.rating,
        ),
    )


def _conflict(awarded: TournamentPrizeAwarded, paid: Prize) -> Refusal:
    field, sent, known = (
        ("/place", awarded.place, paid.place)
        if awarded.place != paid.place
        else ("/amount", awarded.amount, paid.amount)
    )
    return Refusal(
        Reason.CONFLICT,
        f"{field} is {sent}, but this tournament has paid this player with {known} there: a prize is paid once.",
    )
