"""What rating-changed says, checked against itself and against the ratings in Redis. Pure: no I/O."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from worker.cli.simulation.scenario import IDENTITY_LINKED
from worker.rules.ruleset import Rating

PlayerKey = tuple[str, str]
"""(pool, player_id)."""

_FLOAT_TOLERANCE = 1e-6
"""Points by which a sum of unrounded changes may miss, for it is not associative."""


class Audit(NamedTuple):
    """What was seen, repeats left out, and the first thing that does not fit, in one sentence; None if all does."""

    changes: int
    repeats: int
    players: int
    pools: int
    difference: str | None


@dataclass(slots=True)
class _Chain:
    """One player's changes so far."""

    seq: int
    rating: Rating
    moved: Rating = 0
    values: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Link:
    """The two changes of one link, and the rated games that the account had before."""

    anonymous: Mapping[str, Any] | None = None
    account: Mapping[str, Any] | None = None
    games_before: int = 0

    def add(self, event: Mapping[str, Any], chain: _Chain) -> None:
        if "retired" in event:
            self.anonymous = event
        else:
            self.account = event
            self.games_before = chain.values[-1]["rated_games"] if chain.values else 0

    def problem(self) -> str | None:
        if self.anonymous is None or self.account is None:
            one = self.anonymous or self.account
            return None if one is None else f"{_who(one)}: its link was published for one of the two ids only."
        who, games = _who(self.account), self.account["rated_games"]
        if self.games_before:
            if self.account["change"] == 0 and games == self.games_before:
                return None
            return f"{who}: has {self.games_before} rated games, but the link to {self._other()} changed something."
        if (self.account["after"], games) == (self.anonymous["after"], self.anonymous["rated_games"]):
            return None
        return f"{who}: took over from {self._other()} something else than its rating and rated games."

    def _other(self) -> str:
        return "" if self.anonymous is None else str(self.anonymous["player_id"])


def audit(
    events: Iterable[Mapping[str, Any]], starting: Mapping[str, Rating], ratings: Mapping[PlayerKey, Rating]
) -> Audit:
    """Check every player's chain of changes, in the order in which they were published.

    `events` are the values of rating-changed, each partition's in order; `starting` is each pool's starting rating;
    `ratings` are those in Redis. Every chain must count 1, 2, 3 ... once repeats are left out, begin at the start, go
    on where it stood, and end at the rating in Redis, which is the start plus all changes; and every pool's positions
    must be 1, 2, 3 ... without a gap. A repeat must say what it said before. A linked anonymous id must not change any
    more, and its account must have taken its rating and games over if it had no rated game, and else nothing.
    """
    chains: dict[PlayerKey, _Chain] = {}
    positions: dict[str, set[int]] = {}
    links: dict[tuple[str, int], _Link] = {}
    repeats = 0
    difference: str | None = None
    for event in events:
        pool = event["pool"]
        chain = chains.get((pool, event["player_id"]))
        if chain is None:
            chain = chains[pool, event["player_id"]] = _Chain(0, starting.get(pool, math.nan))
        if event["seq"] <= chain.seq:
            repeats += 1
            difference = difference or _repeat_problem(chain, event)
            continue
        difference = difference or _change_problem(chain, event)
        if event["cause"]["type"] == IDENTITY_LINKED:
            links.setdefault((pool, event["position"]), _Link()).add(event, chain)
        chain.seq = event["seq"]
        chain.rating = event["after"]
        chain.moved += event["change"]
        chain.values.append(event)
        positions.setdefault(pool, set()).add(event["position"])
    difference = (
        difference
        or next((problem for link in links.values() if (problem := link.problem())), None)
        or _end_problem(chains, starting, ratings)
        or _position_problem(positions)
    )
    return Audit(sum(len(chain.values) for chain in chains.values()), repeats, len(chains), len(positions), difference)


def _repeat_problem(chain: _Chain, event: Mapping[str, Any]) -> str | None:
    same = [value for value in chain.values if value["seq"] == event["seq"]]
    if same != [event]:
        return f"{_who(event)}: change {event['seq']} came again and says something else."
    return None


def _change_problem(chain: _Chain, event: Mapping[str, Any]) -> str | None:
    if event["seq"] != chain.seq + 1:
        return f"{_who(event)}: change {event['seq']} comes after change {chain.seq}."
    if chain.values and "retired" in chain.values[-1]:
        return f"{_who(event)}: change {event['seq']} comes after it was linked to {chain.values[-1]['linked_to']}."
    if event["before"] != chain.rating:
        return f"{_who(event)}: change {event['seq']} begins at {event['before']}, but it stood at {chain.rating}."
    if not _same(event["before"] + event["change"], event["after"]):
        return f"{_who(event)}: in change {event['seq']} before + change is not after."
    return None


def _end_problem(
    chains: Mapping[PlayerKey, _Chain], starting: Mapping[str, Rating], ratings: Mapping[PlayerKey, Rating]
) -> str | None:
    for (pool, player_id), chain in chains.items():
        who = f"{player_id} in {pool}"
        if not _same(starting[pool] + chain.moved, chain.rating):
            return f"{who}: start + changes is {starting[pool] + chain.moved}, but the last change says {chain.rating}."
        found = ratings.get((pool, player_id))
        if found != chain.rating:
            return f"{who}: the last change says {chain.rating}, but Redis says {found}."
    silent = next((key for key in ratings if key not in chains), None)
    return None if silent is None else f"{silent[1]} in {silent[0]}: Redis has a rating, but no change was published."


def _position_problem(positions: Mapping[str, set[int]]) -> str | None:
    for pool, found in positions.items():
        gap = next((number for number in range(1, len(found) + 1) if number not in found), None)
        if gap is not None:
            return f"{pool}: no change has position {gap}, but later ones have theirs."
    return None


def _same(left: Rating, right: Rating) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return math.isclose(left, right, rel_tol=0, abs_tol=_FLOAT_TOLERANCE)


def _who(event: Mapping[str, Any]) -> str:
    return f"{event['player_id']} in {event['pool']}"
