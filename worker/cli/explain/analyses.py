"""What PR analyses did to a match, or may still do, in words."""

from worker.cli.words import count, moment, shown_id, signed
from worker.ratings.rows import RatedRecord, RecordedSide
from worker.rules.ruleset import PrRule


def settlement(rule: PrRule, rated: RatedRecord, now_ms: int) -> list[str]:
    """Return sentences about the analysis that settled the match, or that it awaits."""
    winner = shown_id(rated.winner.player_id)
    if rated.revision is None and now_ms <= rated.settles_by_ms:
        return [
            f"A PR analysis is awaited until {moment(rated.settles_by_ms)}; if it says that {winner} played worse, "
            "the change counts half."
        ]
    if rated.revision is None:
        return [f"No PR analysis came by {moment(rated.settles_by_ms)}, so the full change stands."]
    verdict = (
        f"{winner} won but played worse, so the change counts half"
        if rated.halved
        else f"{winner} did not play worse, or there is no PR for one of them, so the full change counts"
    )
    if rated.winner.terms["revision"] == rated.revision:
        came = "came with the match" if rated.revision == 0 else f"(revision {rated.revision}) was there before it"
        return [f"The PR analysis {came}: {verdict}."]
    return [f"PR analysis revision {rated.revision} settled it later: {verdict}.", *_exchanges(rule, rated)]


def _exchanges(rule: PrRule, rated: RatedRecord) -> list[str]:
    target = rule.settle(
        rated.raw_change or 0.0, int(rated.winner.before), int(rated.loser.before), halved=rated.halved
    )
    return [
        _exchange(rated.winner, target.winner_after - int(rated.winner.before)),
        _exchange(rated.loser, target.loser_after - int(rated.loser.before)),
    ]


def _exchange(side: RecordedSide, target: int) -> str:
    """Return what replaced what the match did at first; in between the player may have played on."""
    name, first, standing = shown_id(side.player_id), int(side.change), int(side.standing)
    said = f"Counted from {side.before}, where {name} stood before the match, that makes {signed(target)}"
    if standing == first:
        said += ", as at first"
    else:
        said += f" instead of {signed(first)}, so {signed(standing - first)} went to the rating {name} had by then"
    if standing != target:
        said += f"; the floor kept {count(abs(standing - target), 'point')} of it"
    return f"{said}."


def standing(rated: RatedRecord) -> str:
    """Return what the match has moved each player by in all."""
    winner, loser = rated.winner, rated.loser
    return (
        f"In all, this match has moved {shown_id(winner.player_id)} by {signed(winner.standing)} "
        f"and {shown_id(loser.player_id)} by {signed(loser.standing)}."
    )
