"""What the analysis server says of a match, once and again."""

from random import Random

from worker.cli.simulation.platforms import Event, Played, performance
from worker.ratings.instants import format_instant

Prs = tuple[float | None, float | None]
"""PRs of the match's winner and loser."""


def first_prs(random: Random, played: Played) -> Prs:
    """Return the PRs of a first analysis; one in sixteen ends without a result for one side or both."""
    winner, loser = performance(random, played.winner), performance(random, played.loser)
    chance = random.random()
    if chance < 0.02:
        return None, None
    if chance < 0.04:
        return None, loser
    if chance < 0.06:
        return winner, None
    return winner, loser


def flipped_prs(random: Random, played: Played, before: Prs) -> Prs:
    """Return PRs under which the match's outcome is the opposite of what it was: halved becomes full, and back."""
    winner, loser = before
    if winner is None or loser is None:
        better = performance(random, played.loser)
        return better + 1.5, better
    if winner > loser:
        return (loser, winner) if random.random() < 0.8 else (loser, loser)
    return (loser, winner) if winner < loser else (winner + 0.5, loser)


def analysis(random: Random, played: Played, prs: Prs, analyzed_at_ms: int, revision: int) -> Event:
    """Return the event for these PRs, its two players in either order."""
    players = [
        {"player_id": played.winner.id, "pr": prs[0]},
        {"player_id": played.loser.id, "pr": prs[1]},
    ]
    if random.random() < 0.5:
        players.reverse()
    event: Event = {
        "match_id": played.event["match_id"],
        "pool": played.event["pool"],
        "players": players,
        "analyzed_at": format_instant(analyzed_at_ms),
    }
    if revision > 1 or random.random() < 0.5:
        event["revision"] = revision
    return event
