"""Analyses that came before their match, and what is not known at all, in words."""

from worker.cli.explain.halving import shown_pr
from worker.cli.explain.told import Told
from worker.cli.words import count, moment, shown_id
from worker.ratings.events import AnalyzedPlayer
from worker.ratings.instants import DAY_MS, format_instant
from worker.ratings.rows import Parked, ParkedAnalysis
from worker.rules.pools import Pool


def parked(pool: Pool, match_id: str, waiting: Parked, horizon_ms: int) -> Told:
    """Return which analyses wait for a match, since when, until when, and what becomes of them."""
    analyses = sorted(waiting.analyses, key=lambda analysis: (sorted(analysis.pair()), analysis.revision))
    days = pool.rules.retention_days
    newest_ms = max(analysis.analyzed_at_ms for analysis in analyses)
    not_before_ms = newest_ms + days * DAY_MS
    many = len(analyses) > 1
    settles = "the highest revision that names its two players" if many else "this one, if it names the two players,"
    horizon = f"which stands at {moment(horizon_ms)} now" if horizon_ms else "which has not begun to move yet"
    says = (
        f"The match {shown_id(match_id)} has not come to {pool.name} yet, but "
        f"{count(len(analyses), 'PR analysis waits', 'PR analyses wait')} for it, and nobody's rating has changed.",
        *(_one(analysis) for analysis in analyses),
        f"When the match comes, {settles} settles it at once: the match is then rated in full or half from the start. "
        "What names other players becomes a dead letter (players-mismatch), and so does what was published more than "
        f"{days} days after the match ended (too-late). If the match turns out not to count, its analyses do nothing.",
        f"{'They can' if many else 'It can'} wait until the pool's horizon, {horizon}, has passed "
        f"{moment(newest_ms)}. The horizon is {days} days behind the newest records, so that is not before "
        f"{moment(not_before_ms)}. Then {'they are' if many else 'it is'} removed, and nothing has changed.",
    )
    facts = {
        "pool": pool.name,
        "match_id": match_id,
        "parked": [
            {
                "revision": analysis.revision,
                "players": [{"player_id": player.id, "pr": player.pr} for player in analysis.players],
                "analyzed_at": format_instant(analysis.analyzed_at_ms),
                "waits_since": format_instant(analysis.delivery.timestamp_ms),
                "source": str(analysis.delivery.source),
            }
            for analysis in analyses
        ],
        "horizon": format_instant(horizon_ms) if horizon_ms else None,
        "waits_until_horizon_passes": format_instant(newest_ms),
        "not_removed_before": format_instant(not_before_ms),
    }
    return Told(says, facts)


def unknown(what: str, looked_for: str, pool_name: str, dead_letters: str, horizon_ms: int, kept: str = "") -> str:
    """Return what was looked for without success, and what may be the reason.

    `what` begins the sentence, `kept` says what is still to be found about what has been pruned; "" where `what` is
    remembered for ever. `dead_letters` is the topic with what was refused.
    """
    reasons = [
        "it may not have arrived yet",
        f"it may have been refused (then it is in the topic {dead_letters}, with the reason in its header dlt-reason)",
    ]
    if kept and horizon_ms:
        reasons.append(f"it may be from before {moment(horizon_ms)}, the pool's horizon, and have been pruned ({kept})")
    text = ", ".join(reasons[:-1]) + f", or {reasons[-1]}"
    return f"{what} is not known in {pool_name}: {looked_for}. {text[0].upper()}{text[1:]}."


def _one(analysis: ParkedAnalysis) -> str:
    first, second = (_player(player) for player in analysis.players)
    return (
        f"Revision {analysis.revision} of {first} and {second}, made at {moment(analysis.analyzed_at_ms)}, has waited "
        f"since {moment(analysis.delivery.timestamp_ms)}."
    )


def _player(player: AnalyzedPlayer) -> str:
    return f"{shown_id(player.id)} ({'no PR' if player.pr is None else f'PR {shown_pr(player.pr)}'})"
