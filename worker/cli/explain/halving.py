"""What PR analyses did to a BlitzGammon match, or may still do, in words."""

from worker.cli.explain.blitzgammon import half, loss, points
from worker.cli.words import count, moment, shown_id, signed
from worker.ratings.rows import RatedRecord, RecordedSide
from worker.rules.blitzgammon import BlitzGammon


def settlement(rules: BlitzGammon, rated: RatedRecord, now_ms: int) -> tuple[str, ...]:
    """Return sentences about the analysis that settled the match, or that it awaits at `now_ms`, and what stands."""
    winner = shown_id(rated.winner.player_id)
    if rated.revision is None and now_ms <= rated.settles_by_ms:
        awaited = f"A PR analysis is awaited until {moment(rated.settles_by_ms)}"
        return f"{awaited}; if it says that {winner} played worse, the change counts half.", _standing(rated)
    if rated.revision is None:
        return f"No PR analysis came by {moment(rated.settles_by_ms)}, so the full change stands.", _standing(rated)
    full = f"{winner} did not play worse, or there is no PR for one of the two, so the full change counts."
    if rated.winner.terms["revision"] == rated.revision:
        came = "came with the match" if rated.revision == 0 else f"(revision {rated.revision}) was there before it"
        verdict = f"{winner} won but played worse, so the change counts half." if rated.halved else full
        return f"The PR analysis {came}: {verdict}", _standing(rated)
    verdict = half(rules, rated.raw_change or 0.0, winner) if rated.halved else full
    settled = f"PR analysis revision {rated.revision} settled it after it had been rated: {verdict}"
    return settled, *_exchanges(rules, rated), _standing(rated)


def _exchanges(rules: BlitzGammon, rated: RatedRecord) -> tuple[str, str]:
    raw, winner_before, loser_before = rated.raw_change or 0.0, int(rated.winner.before), int(rated.loser.before)
    target = rules.settle(raw, winner_before, loser_before, halved=rated.halved)
    hundredths = rules.change_hundredths(raw, halved=rated.halved)
    won = f"{winner_before} + {points(hundredths)}, rounded to {target.winner_after}"
    lost = loss(rules, loser_before, hundredths, target.loser_after, target.loser_floored_by)
    return (
        _exchange(rated.winner, won, target.winner_after - winner_before),
        _exchange(rated.loser, lost, target.loser_after - loser_before, floored=target.loser_floored_by > 0),
    )


def _exchange(side: RecordedSide, sum_: str, target: int, *, floored: bool = False) -> str:
    """Return what replaced what the match did at first; in between the player may have played on."""
    name, first, stands = shown_id(side.player_id), int(side.change), int(side.standing)
    said = f"{name}: {sum_}, {'which makes' if floored else 'makes'} {signed(target)}"
    if stands == first == target:
        return f"{said}, as at first."
    said += f" instead of {signed(first)}, so {signed(stands - first)} went to the rating {name} had by then"
    return f"{said}; the floor kept {count(abs(stands - target), 'point')}." if stands != target else f"{said}."


def _standing(rated: RatedRecord) -> str:
    winner, loser = rated.winner, rated.loser
    return (
        f"In all, this match has moved {shown_id(winner.player_id)} by {signed(winner.standing)} "
        f"and {shown_id(loser.player_id)} by {signed(loser.standing)}."
    )
