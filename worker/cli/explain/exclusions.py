"""Why a match does not count, in words."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from worker.cli.words import shown_id
from worker.rules.match import MatchFinished, Player
from worker.rules.ruleset import Ruleset

WHY: Mapping[str, str] = {
    "boosted": "it was a boosted game, and only ranked games count",
    "tournament": "it was a tournament game, and only ranked games count",
    "computer": "the computer or a bot played in it",
    "bot": "a bot played in it",
    "casual": "it was a casual match",
    "elo-disabled": "its host had not asked for it to be rated",
    "private-room": "it was played in a private room, and only the public queue counts",
    "club-table": "it was played at a club table, and only the public queue counts",
    "one-screen": "both players sat at one screen",
    "guest": "one of the players has no account",
    "same-address": "both players came from the same address",
    "same-network": "both players appear to share a network",
}
RULES: Mapping[str, str] = {
    "gammon42": (
        "Gammon42 rates ranked games between two people. Boosted games (also called casual), tournament games and "
        "games with a bot do not count."
    ),
    "blitzgammon": (
        "BlitzGammon rates matches of the mode rating, and hosted ones whose host asked for it, between two people. "
        "Casual matches and matches against the computer or a bot do not count."
    ),
    "nardeon": (
        "NARDEON rates matches of the public queue between two accounts. Private rooms, club tables, matches against "
        "the computer, two players at one screen, guests, and two accounts from the same address do not count."
    ),
    "season0": (
        "Season 0 rates ranked games between two people. Games against a bot, and games between players who appear to "
        "share a network, do not count."
    ),
}
"""What counts in every rating system, by the name of its ruleset."""

_WITHOUT_ACCOUNT = {"guest": "a guest", "anonymous": "somebody without an account"}

NOTHING_CHANGED = "Nothing changed for either player: no rating, no number of games, no experience."


class Exclusion(NamedTuple):
    """Why a match does not count: as half a sentence, and as whole ones with the system's rule and what it met."""

    why: str
    says: tuple[str, ...]


def excluded(rules: Ruleset, match: MatchFinished, reason: str) -> Exclusion:
    """Return what there is to say about a match that is excluded for `reason`, an `excluded_reason`."""
    said = f"{RULES[rules.name]} This match falls under {reason!r}: {_met(rules, match, reason)}."
    return Exclusion(why_excluded(reason), (said, NOTHING_CHANGED))


def why_excluded(reason: str) -> str:
    """Return the rule behind an `excluded_reason` as half a sentence; one without words is given as it is."""
    return WHY.get(reason, f"of the rule {reason!r}")


def _met(rules: Ruleset, match: MatchFinished, reason: str) -> str:
    """Return what the platform reported that the rule is about: the mode comes first, then who played, then where."""
    two_accounts = replace(match, winner=Player("a"), loser=Player("b"), same_network=False)
    if rules.exclusion(two_accounts) == reason:
        asked = ", without asking for it to be rated (elo_enabled)" if reason == "elo-disabled" else ""
        return f"the platform reported it with the mode {match.mode!r}{asked}"
    if rules.exclusion(replace(match, same_network=False)) == reason:
        kinds = _WITHOUT_ACCOUNT if reason == "guest" else {"bot": "a bot"}
        seats = [(shown_id(seat.id), kinds[seat.kind]) for seat in (match.winner, match.loser) if seat.kind in kinds]
        return f"the platform reported {' and '.join(f'{name} as {kind}' for name, kind in seats)}"
    return "the platform reported that both players share an address or a network (same_network)"
