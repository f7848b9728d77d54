"""Bytes from Kafka to events: JSON, the published schema, and every check that needs no more than the pool.

The stages and their order are those of the table "Dead letters" in the wire contract. What needs state comes later.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import orjson
from msgspec import Struct

from worker.ratings.delivery import Delivery, Unreadable
from worker.ratings.events import AnalyzedPlayer, Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import DAY_MS, format_instant, parse_instant
from worker.ratings.refusal import Reason, Refusal
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool
from worker.rules.ruleset import Ruleset, UnpublishedFormulaError
from worker.stream.schema import EventSchema, echo, sentence

FUTURE_MS: Final = 5 * 60_000
"""How far an event's instant may lie after its record's timestamp, in ms."""

Json = dict[str, Any]


class Decoded(Struct, frozen=True, gc=False):
    """One delivery after all checks that need no state: either `event` or `refusal` is set, never both.

    `pool` is the configured pool it belongs to, None where that is unknown. `instant_ms` is the event's instant in
    UTC ms, the record's timestamp where it cannot be decoded; partitions are merged by it.
    """

    delivery: Delivery
    event: Event | None
    pool: str | None
    refusal: Refusal | None
    instant_ms: int


class _Pair(NamedTuple):
    """Pointers to the two ids that must differ, and how an event says them."""

    first: str
    second: str
    ids: Callable[[Any], tuple[str, str]]


class _Kind(NamedTuple):
    """How events of one topic are read: their instant's field, their value, and where they name two players.

    `belongs` tells whether a pool of this ruleset takes such events, `has_branches` whether its schema depends on that.
    """

    instant_field: str
    belongs: Callable[[Ruleset], bool]
    has_branches: bool
    build: Callable[[Json, int], Event]
    pair: _Pair | None


class _Gate(NamedTuple):
    """What an event has to pass to enter one pool; `fits` is the root of the schema and the ruleset's part in one."""

    pool: Pool
    fits: Callable[[object], bool]
    retention_ms: int


class Decoder:
    """Decodes the deliveries of one input topic for a fixed set of pools. It never raises for what it is given."""

    def __init__(self, kind: str, pools: Mapping[str, Pool]) -> None:
        """Prepare for `kind`, an input topic without prefix; raise LookupError where its schema lacks a ruleset."""
        self._kind = _KINDS[kind]
        self._schema = EventSchema(kind)
        self._branches = {
            pool.rules.name: self._schema.branch(pool.rules.name) for pool in pools.values() if self._kind.has_branches
        }
        self._gates = {name: self._gate(pool) for name, pool in pools.items()}

    def _gate(self, pool: Pool) -> _Gate:
        ruleset = pool.rules.name
        whole = self._schema.whole(ruleset) if self._kind.has_branches else self._schema.root
        fits = whole.is_valid if self._kind.belongs(pool.rules) else _nothing_fits
        return _Gate(pool, fits, pool.rules.retention_days * DAY_MS)

    def decode(self, delivery: Delivery) -> Decoded:
        """Return the delivery's event, or the first reason why it is refused."""
        if not delivery.value:
            return _undecodable(delivery, Reason.NOT_JSON, _nothing_there(delivery.value))
        try:
            raw = orjson.loads(delivery.value)
        except orjson.JSONDecodeError as error:
            return _undecodable(delivery, Reason.NOT_JSON, sentence(f"The value must be JSON in UTF-8, but: {error}."))
        gate = self._gate_of(raw)
        if gate is None or not gate.fits(raw):
            return self._unfit(delivery, raw, gate)
        kind = self._kind
        instant_ms = parse_instant(raw[kind.instant_field])
        event = kind.build(raw, instant_ms)
        refusal = self._refusal(delivery, event, instant_ms, gate)
        return Decoded(delivery, None if refusal else event, gate.pool.name, refusal, instant_ms)

    def _gate_of(self, raw: object) -> _Gate | None:
        name = raw.get("pool") if isinstance(raw, dict) else None
        return self._gates.get(name) if isinstance(name, str) else None

    def _unfit(self, delivery: Delivery, raw: Any, gate: _Gate | None) -> Decoded:
        """Return why an event is refused that names no pool of ours or does not fit the schema."""
        root = self._schema.root
        if not root.is_valid(raw):
            return _undecodable(delivery, Reason.SCHEMA, self._schema.explain(root, raw))
        instant_ms = parse_instant(raw[self._kind.instant_field])
        if gate is None:
            message = f"/pool must be one of {', '.join(self._gates)}, but is {echo(raw['pool'])}."
            return Decoded(delivery, None, None, Refusal(Reason.UNKNOWN_POOL, sentence(message)), instant_ms)
        ruleset = gate.pool.rules.name
        if not self._kind.belongs(gate.pool.rules):
            message = f"/pool is {echo(raw['pool'])}, a {ruleset} pool, where there is no {self._schema.kind} event."
            refusal = Refusal(Reason.WRONG_RULESET, sentence(message))
            return Decoded(delivery, None, gate.pool.name, refusal, instant_ms)
        message = self._schema.explain(self._branches[ruleset], raw, f" in a {ruleset} pool")
        return Decoded(delivery, None, gate.pool.name, Refusal(Reason.SCHEMA, message), instant_ms)

    def _refusal(self, delivery: Delivery, event: Event, instant_ms: int, gate: _Gate) -> Refusal | None:
        kind, pair = self._kind, self._kind.pair
        if pair is not None:
            first, second = pair.ids(event)
            if first == second:
                message = f"{pair.second} must be another player than {pair.first}, but both are {echo(first)}."
                return Refusal(Reason.SELF_MATCH, sentence(message))
        age_ms = delivery.timestamp_ms - instant_ms
        if -FUTURE_MS <= age_ms <= gate.retention_ms:
            return _unpublished(event, gate.pool)
        reason, limit = (
            (Reason.IN_THE_FUTURE, "5 minutes after")
            if age_ms < 0
            else (Reason.TOO_LATE, f"{gate.pool.rules.retention_days} days before")
        )
        message = (
            f"/{kind.instant_field} must be at most {limit} the record's timestamp, "
            f"{format_instant(delivery.timestamp_ms)}, but is {format_instant(instant_ms)}."
        )
        return Refusal(reason, sentence(message))


def _nothing_fits(_event: object) -> bool:
    return False


def _unpublished(event: Event, pool: Pool) -> Refusal | None:
    if isinstance(event, MatchFinished) and pool.rules.exclusion(event) is None:
        try:
            pool.rules.check(event)
        except UnpublishedFormulaError as error:
            return Refusal(Reason.UNPUBLISHED_FORMULA, sentence(str(error)))
    return None


def _nothing_there(value: bytes | None) -> str:
    if isinstance(value, Unreadable):
        return sentence(value.why)
    return "The value is empty, but must be a JSON object."


def _undecodable(delivery: Delivery, reason: Reason, message: str) -> Decoded:
    return Decoded(delivery, None, None, Refusal(reason, message), delivery.timestamp_ms)


def _match_finished(raw: Json, finished_at_ms: int) -> MatchFinished:
    get = raw.get
    cube, length = get("cube"), get("length")
    return MatchFinished(
        raw["pool"],
        raw["match_id"],
        _player(raw["winner"]),
        _player(raw["loser"]),
        finished_at_ms,
        raw["mode"],
        None if cube is None else int(cube),
        None if length is None else int(length),
        get("elo_enabled", False),
        get("same_network", False),
        get("end_reason", "completed"),
        get("win_type"),
        get("formula_version"),
    )


def _player(raw: Json) -> Player:
    pr = raw.get("pr")
    return Player(raw["player_id"], raw.get("kind", "account"), None if pr is None else float(pr))


def _match_analyzed(raw: Json, analyzed_at_ms: int) -> MatchAnalyzed:
    first, second = raw["players"]
    players = _analyzed_player(first), _analyzed_player(second)
    return MatchAnalyzed(raw["pool"], raw["match_id"], players, analyzed_at_ms, int(raw.get("revision", 1)))


def _analyzed_player(raw: Json) -> AnalyzedPlayer:
    pr = raw["pr"]
    return AnalyzedPlayer(raw["player_id"], None if pr is None else float(pr))


def _prize_awarded(raw: Json, awarded_at_ms: int) -> TournamentPrizeAwarded:
    return TournamentPrizeAwarded(
        raw["pool"], raw["tournament_id"], raw["player_id"], int(raw["place"]), int(raw["amount"]), awarded_at_ms
    )


def _identity_linked(raw: Json, linked_at_ms: int) -> IdentityLinked:
    return IdentityLinked(raw["pool"], raw["anonymous_id"], raw["account_id"], linked_at_ms)


def _opponents(match: MatchFinished) -> tuple[str, str]:
    return match.winner.id, match.loser.id


def _analyzed_ids(analysis: MatchAnalyzed) -> tuple[str, str]:
    return analysis.players[0].id, analysis.players[1].id


def _linked_ids(link: IdentityLinked) -> tuple[str, str]:
    return link.anonymous_id, link.account_id


def _any_ruleset(_rules: Ruleset) -> bool:
    return True


_KINDS: Final[Mapping[str, _Kind]] = {
    "match-finished": _Kind(
        "finished_at",
        _any_ruleset,
        True,
        _match_finished,
        _Pair("/winner/player_id", "/loser/player_id", _opponents),
    ),
    "match-analyzed": _Kind(
        "analyzed_at",
        _any_ruleset,
        False,
        _match_analyzed,
        _Pair("/players/0/player_id", "/players/1/player_id", _analyzed_ids),
    ),
    "tournament-prize-awarded": _Kind("awarded_at", lambda rules: rules.has_prizes, False, _prize_awarded, None),
    "identity-linked": _Kind(
        "linked_at",
        lambda rules: rules.has_links,
        False,
        _identity_linked,
        _Pair("/anonymous_id", "/account_id", _linked_ids),
    ),
}
