"""What was published and what came of it, counted. Pure: no I/O."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from worker.cli.simulation import Kind, Published
from worker.cli.simulation.scenario import IDENTITY_LINKED, MATCH_ANALYZED, PRIZE_AWARDED
from worker.rules.ruleset import Rating

NO_POOL = "-"
"""Where letters are counted that name no pool."""

PoolCount = Counter[str]
MatchKey = tuple[str, str]
"""(pool, match_id)."""
Repeats = Counter[tuple[str, str]]
"""Duplicates by (pool, topic without prefix)."""


@dataclass(slots=True)
class Stated:
    """What a correct worker makes of what the simulation published, as the simulation says.

    `rated`, `awarded` and `linked` are by pool, `excluded` by (pool, reason), `letters` by reason. `either` are the
    matches of which only the worker can tell: rated, or refused as matches against oneself.
    """

    records: int = 0
    rated: PoolCount = field(default_factory=Counter)
    awarded: PoolCount = field(default_factory=Counter)
    linked: PoolCount = field(default_factory=Counter)
    duplicates: Repeats = field(default_factory=Counter)
    excluded: Counter[tuple[str, str]] = field(default_factory=Counter)
    letters: Counter[str] = field(default_factory=Counter)
    either: set[MatchKey] = field(default_factory=set)

    def add(self, record: Published) -> None:
        """Count one record."""
        self.records += 1
        if record.kind in (Kind.CONFLICT, Kind.INVALID):
            self.letters[record.reason or ""] += 1
            return
        if record.topic == MATCH_ANALYZED:
            return
        pool = pool_named(record.value, NO_POOL)
        if record.kind is Kind.EXCLUDED:
            self.excluded[pool, record.reason or ""] += 1
        elif record.kind is Kind.DUPLICATE:
            self.duplicates[pool, record.topic] += 1
        elif record.kind is Kind.AGAINST_ONESELF:
            self.either.add((pool, orjson.loads(record.value or b"")["match_id"]))
        else:
            {PRIZE_AWARDED: self.awarded, IDENTITY_LINKED: self.linked}.get(record.topic, self.rated)[pool] += 1

    def settle(self, rated: Collection[MatchKey]) -> None:
        """Count the matches of which only the worker can tell, now that it is known which of them were `rated`."""
        for match in self.either:
            if match in rated:
                self.rated[match[0]] += 1
            else:
                self.letters["self-match"] += 1
        self.either = set()


class Letter(NamedTuple):
    """A dead letter: its reason, the pool it names (NO_POOL if none of ours), and the coordinates of the original."""

    reason: str
    pool: str
    original: tuple[str, str, str]


class Link(NamedTuple):
    """A linked identity: what it had as it was linked, and the rated games that the account has played since."""

    pool: str
    anonymous_id: str
    account_id: str
    took_over: bool
    rating: Rating
    rated_games: int
    games_since: int


class Halved(NamedTuple):
    """A match whose change stands halved; `late` if an analysis halved it after it had been rated in full."""

    pool: str
    match_id: str
    late: bool
    moved: bool


@dataclass(slots=True)
class Answers:
    """What came out, repeats left out; `duplicates` are those that the worker itself counted."""

    changes: list[Mapping[str, Any]]
    matches: set[MatchKey]
    rated: PoolCount
    prizes: list[Mapping[str, Any]]
    links: list[Link]
    excluded: Counter[tuple[str, str]]
    letters: Counter[str]
    pool_letters: PoolCount
    duplicates: Mapping[tuple[str, str], int]
    halved: list[Halved]


def count_answers(
    changes: list[Mapping[str, Any]],
    exclusions: Iterable[Mapping[str, Any]],
    letters: Iterable[Letter],
    duplicates: Mapping[tuple[str, str], int],
) -> Answers:
    """Count the values of rating-changed and match-excluded, and the letters of all dead-letter topics."""
    excluded = {event["event_id"]: (event["pool"], event["reason"]) for event in exclusions}
    different = set(letters)
    matches = {
        (event["pool"], event["cause"]["match_id"]) for event in changes if event["cause"]["type"] == "match-finished"
    }
    return Answers(
        changes,
        matches,
        Counter(pool for pool, _ in matches),
        list({event["event_id"]: event for event in changes if event["cause"]["type"] == PRIZE_AWARDED}.values()),
        _links(changes),
        Counter(excluded.values()),
        Counter(letter.reason for letter in different),
        Counter(letter.pool for letter in different),
        duplicates,
        _halved(changes),
    )


def differences(stated: Stated, answers: Answers) -> list[str]:
    """Return a sentence for everything that must agree and does not."""
    compared: tuple[tuple[str, str, Mapping[Any, int], Mapping[Any, int]], ...] = (
        ("rated in", "", stated.rated, answers.rated),
        ("prizes in", "", stated.awarded, Counter(event["pool"] for event in answers.prizes)),
        ("links in", "", stated.linked, Counter(link.pool for link in answers.links)),
        ("duplicates in", " on ", stated.duplicates, answers.duplicates),
        ("excluded in", " as ", stated.excluded, answers.excluded),
        ("dead letters with the reason", "", stated.letters, answers.letters),
    )
    return [
        f"{what} {key if isinstance(key, str) else between.join(key)}: "
        f"{found.get(key, 0):,} came out, but the simulation states {wanted.get(key, 0):,}."
        for what, between, wanted, found in compared
        for key in sorted({*wanted, *found})
        if wanted.get(key, 0) != found.get(key, 0)
    ]


def pool_named(value: bytes | None, otherwise: str) -> str:
    """Return the pool that a record's value names, `otherwise` where it cannot be told."""
    try:
        event = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return otherwise
    pool = event.get("pool") if isinstance(event, dict) else None
    return pool if isinstance(pool, str) else otherwise


def _links(changes: Iterable[Mapping[str, Any]]) -> list[Link]:
    """Return every link once; an account that takes over has had no change before it."""
    named = {(event["pool"], event["player_id"], event["seq"]): event for event in changes}
    games = Counter({(pool, player_id): 0 for pool, player_id, _ in named})
    for event in named.values():
        player = event["pool"], event["player_id"]
        games[player] = max(games[player], event["rated_games"])
    retired = [event for event in named.values() if "retired" in event]
    accounts = {
        (event["pool"], event["position"]): event
        for event in named.values()
        if event["cause"]["type"] == IDENTITY_LINKED and "retired" not in event
    }
    links = []
    for event in retired:
        pool, cause = event["pool"], event["cause"]
        account = accounts.get((pool, event["position"]))
        since = 0 if account is None else games[pool, cause["account_id"]] - account["rated_games"]
        took_over = account is not None and account["seq"] == 1
        links.append(
            Link(
                *(pool, cause["anonymous_id"], cause["account_id"], took_over),
                *(event["after"], event["rated_games"], since),
            )
        )
    return links


def _halved(changes: Iterable[Mapping[str, Any]]) -> list[Halved]:
    """Return the matches that stand halved, in the order in which they were settled."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for event in sorted(changes, key=lambda event: int(event["position"])):
        if "halved" in event["details"]:
            newest[event["pool"], event["cause"]["match_id"]] = event
    return [
        Halved(pool, match_id, event["cause"]["type"] == "match-analyzed", event["change"] != 0)
        for (pool, match_id), event in newest.items()
        if event["details"]["halved"]
    ]
