"""Why a match does not count, in words."""

from collections.abc import Mapping

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


def why_excluded(reason: str) -> str:
    """Return the rule behind an `excluded_reason` as half a sentence; one without words is given as it is."""
    return WHY.get(reason, f"of the rule {reason!r}")
