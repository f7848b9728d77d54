"""What is out of the ordinary about a rated match, in words: that it came late, that it counts for somebody else."""

from collections.abc import Iterator

from worker.cli.words import shown_id
from worker.ratings.rows import RatedRecord
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool


def late(pool: Pool, rated: RatedRecord) -> Iterator[str]:
    """Yield for whom the match came late, and what that means."""
    names = [shown_id(side.player_id) for side in (rated.winner, rated.loser) if side.late]
    if not names:
        return
    window = "" if pool.rules.window_ms is None else " In the windows of ranked games it stands where it belongs."
    yield (
        f"It came late for {' and for '.join(names)}: a match that ended after it had been applied already. So it was "
        f"rated when it came, with both ratings as they stood then, and nothing that had been rated was rated anew."
        f"{window}"
    )


def linked(match: MatchFinished, rated: RatedRecord) -> Iterator[str]:
    """Yield which sides were sent under an id that is linked to the account they count for."""
    for sent, side in ((match.winner, rated.winner), (match.loser, rated.loser)):
        if sent.id != side.player_id:
            account = shown_id(side.player_id)
            yield f"It was sent for {shown_id(sent.id)}, which is linked to {account}: it counts for {account}."
