"""A tournament's prize, in words."""

from worker.cli.explain.told import Told
from worker.cli.words import count, moment, plus, shown_id, shown_rating
from worker.ratings.instants import format_instant
from worker.ratings.rows import Prize
from worker.rules.pools import Pool

NO_GAME = (
    "A prize is a flat amount, paid once for each tournament and player. It is not a game: it is in no window and in "
    "no count of games, so no K goes by it."
)


def paid(pool: Pool, prize: Prize) -> Told:
    """Return what a prize did to its player's rating, and what it leaves alone."""
    player, tournament = shown_id(prize.player_id), shown_id(prize.tournament_id)
    after = prize.before + prize.amount
    says = (
        f"{player} came in place {prize.place:,} of the tournament {tournament} in {pool.name} and was paid "
        f"{count(prize.amount, 'point')}, awarded at {moment(prize.awarded_at_ms)}: "
        f"{shown_rating(prize.before)} {plus(prize.amount)} = {shown_rating(after)}.",
        NO_GAME,
        f"It was applied at position {prize.position} of the pool (it came as {prize.source}). The same place and "
        "amount again changes nothing; another place or amount is refused as a conflict.",
    )
    facts = {
        "pool": pool.name,
        "tournament_id": prize.tournament_id,
        "player_id": prize.player_id,
        "place": prize.place,
        "awarded_at": format_instant(prize.awarded_at_ms),
        "before": prize.before,
        "change": prize.amount,
        "after": after,
        "position": prize.position,
        "source": str(prize.source),
    }
    return Told(says, facts)
