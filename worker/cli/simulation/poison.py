"""Records that no worker can apply, one variety for each mistake that publishers make.

Each variety takes a fresh, valid, rated event and the record's timestamp, and returns what is published instead.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

import orjson

from worker.cli.simulation.analyses import analysis, first_prs
from worker.cli.simulation.chance import pick
from worker.cli.simulation.facts import prize
from worker.cli.simulation.people import device
from worker.cli.simulation.platforms import Event, Played
from worker.cli.simulation.scenario import (
    DAY_MS,
    HOUR_MS,
    IDENTITY_LINKED,
    MATCH_ANALYZED,
    MATCH_FINISHED,
    MINUTE_MS,
    PRIZE_AWARDED,
    RULESETS,
)
from worker.ratings.instants import format_instant

RETENTION_DAYS = 30
_FUTURE_MS = 5 * MINUTE_MS

Value = bytes | None
Spoil = Callable[[Random, Event, int], Value]


class Poison(NamedTuple):
    """One invalid record: its topic, its value (None is a tombstone) and the reason it will be refused for."""

    topic: str
    value: Value
    reason: str


def poison(random: Random, played: Played, timestamp_ms: int) -> Poison:
    """Return an invalid record made of a match that is published nowhere; every reason is as likely as any other."""
    if played.ruleset == "blitzgammon" and random.random() < 0.3:
        event = analysis(random, played, first_prs(random, played), timestamp_ms - 1, 1)
        reason = pick(random, tuple(_ANALYSES))
        return Poison(MATCH_ANALYZED, pick(random, _ANALYSES[reason])(random, event, timestamp_ms), reason)
    mistakes = _MATCHES_OF_RULESET[played.ruleset]
    reason = pick(random, tuple(mistakes))
    return Poison(MATCH_FINISHED, pick(random, mistakes[reason])(random, played.event, timestamp_ms), reason)


def poison_fact(random: Random, topic: str, played: Played, timestamp_ms: int) -> tuple[Poison, Event]:
    """Return an invalid prize or link in the match's pool, and the valid event that it is made of, published nowhere.

    In a pool of another ruleset than its own it is a valid one, and refused for that.
    """
    make, mistakes = _FACTS[topic]
    event = make(random, str(played.event["pool"]), played.winner.id, timestamp_ms)
    if played.ruleset != RULESETS[topic]:
        return Poison(topic, orjson.dumps(event), "wrong-ruleset"), event
    reason = pick(random, tuple(mistakes))
    return Poison(topic, pick(random, mistakes[reason])(random, event, timestamp_ms), reason), event


def strangers(random: Random, played: Played, timestamp_ms: int) -> Poison:
    """Return an analysis of this match that names somebody who was not in it."""
    event = analysis(random, played, first_prs(random, played), timestamp_ms, 1)
    players = event["players"]
    assert isinstance(players, list)  # noqa: S101 - made above
    players[0] = {**players[0], "player_id": f"stranger-{random.getrandbits(32):08x}"}
    return Poison(MATCH_ANALYZED, orjson.dumps(event), "players-mismatch")


def _says(**fields: object) -> Spoil:
    """Return a variety that differs from the valid event in these fields."""
    return lambda _random, event, _timestamp_ms: orjson.dumps({**event, **fields})


def _lacks(name: str) -> Spoil:
    return lambda _random, event, _timestamp_ms: orjson.dumps({k: v for k, v in event.items() if k != name})


def _bytes(value: Value) -> Spoil:
    return lambda _random, _event, _timestamp_ms: value


def _winner_says(**fields: object) -> Spoil:
    def spoil(_random: Random, event: Event, _timestamp_ms: int) -> Value:
        winner = event["winner"]
        return orjson.dumps({**event, "winner": {**winner, **fields}}) if isinstance(winner, dict) else None

    return spoil


def _cut(random: Random, event: Event, _timestamp_ms: int) -> Value:
    whole = orjson.dumps(event)
    return whole[: 1 + int(random.random() * (len(whole) - 1))]


def _latin_1(_random: Random, event: Event, _timestamp_ms: int) -> Value:
    return orjson.dumps({**event, "server": "?"}).replace(b"?", "Zürich".encode("latin-1"))


def _not_a_number(_random: Random, event: Event, _timestamp_ms: int) -> Value:
    return orjson.dumps({**event, "cube": "?"}).replace(b'"?"', b"NaN")


def _marked(_random: Random, event: Event, _timestamp_ms: int) -> Value:
    return b"\xef\xbb\xbf" + orjson.dumps(event)


def _against_oneself(_random: Random, event: Event, _timestamp_ms: int) -> Value:
    return orjson.dumps({**event, "loser": event["winner"]})


def _at(name: str, early_ms: int, late_ms: int) -> Spoil:
    """Return a variety whose instant lies that far from the record's timestamp."""

    def spoil(random: Random, event: Event, timestamp_ms: int) -> Value:
        moved = timestamp_ms + early_ms + int(random.random() * (late_ms - early_ms))
        return orjson.dumps({**event, name: format_instant(moved)})

    return spoil


def _players(change: Callable[[list[Event]], list[Event]]) -> Spoil:
    def spoil(_random: Random, event: Event, _timestamp_ms: int) -> Value:
        players = event["players"]
        return orjson.dumps({**event, "players": change(players)}) if isinstance(players, list) else None

    return spoil


_NO_INSTANTS = ("2026-11-01T12:00:00", "2026-02-30T12:00:00Z", "yesterday", 1793534400)
_NOT_JSON: tuple[Spoil, ...] = (
    *(_bytes(None), _bytes(b""), _bytes(b"winner=ann"), _bytes(b'{"match_id":"\xff\xfe"}')),
    *(_cut, _latin_1, _not_a_number, _marked),
)
_SCHEMA: tuple[Spoil, ...] = (
    *(_bytes(b"[]"), _bytes(b"null"), _bytes(b"{}"), _bytes(b'"bg-1"')),
    *(_lacks(name) for name in ("match_id", "winner", "loser", "finished_at", "mode", "pool")),
    *(_says(match_id=wrong) for wrong in ("", "m" * 129, 7)),
    *(_says(finished_at=wrong) for wrong in _NO_INSTANTS),
    *(_says(finished_at=wrong) for wrong in ("2026-11-01t12:00:00z", "2026-11-01T12:00:00+24:00", None)),
    *(_says(length=wrong) for wrong in (0, 100, 2.5, "5")),
    *(_says(cube=wrong) for wrong in (3, 128, 0, -2)),
    *(_winner_says(pr=wrong) for wrong in (-0.5, "4.2")),
    *(_winner_says(player_id=wrong) for wrong in ("", "é" * 129, None)),
    *(_winner_says(kind="robot"), _says(loser="ann"), _says(end_reason="rage-quit"), _says(win_type="triple")),
    *(_says(elo_enabled=None), _says(same_network="yes"), _says(formula_version="1.3"), _says(mode="duplicate")),
)
_UNKNOWN_POOL = tuple(_says(pool=wrong) for wrong in ("gammon43", "Gammon42", "blitz", "нарды"))

_MATCHES: Mapping[str, tuple[Spoil, ...]] = {
    "not-json": _NOT_JSON,
    "schema": _SCHEMA,
    "unknown-pool": _UNKNOWN_POOL,
    "self-match": (_against_oneself,),
    "in-the-future": (_at("finished_at", _FUTURE_MS + 1, 2 * HOUR_MS),),
    "too-late": (_at("finished_at", -400 * DAY_MS, -RETENTION_DAYS * DAY_MS),),
}
_ANALYSES: Mapping[str, tuple[Spoil, ...]] = {
    "not-json": (_bytes(None), _bytes(b""), _cut, _marked),
    "schema": (
        *(_lacks(name) for name in ("match_id", "players", "analyzed_at", "pool")),
        *(_says(revision=wrong) for wrong in (0, -1, 1.5, 2**31)),
        _players(lambda players: players[:1]),
        _players(lambda players: [*players, players[0]]),
        _players(lambda players: [{**players[0], "pr": -1}, players[1]]),
        _players(lambda players: [{"player_id": players[0]["player_id"]}, players[1]]),
    ),
    "unknown-pool": _UNKNOWN_POOL,
    "self-match": (_players(lambda players: [players[0], {**players[1], "player_id": players[0]["player_id"]}]),),
    "in-the-future": (_at("analyzed_at", _FUTURE_MS + 1, 2 * HOUR_MS),),
    "too-late": (_at("analyzed_at", -400 * DAY_MS, -RETENTION_DAYS * DAY_MS),),
}


def _fact_mistakes(instant_field: str, schema: tuple[Spoil, ...]) -> Mapping[str, tuple[Spoil, ...]]:
    return {
        "not-json": (_bytes(None), _bytes(b""), _cut, _marked),
        "schema": (
            *(_lacks(name) for name in ("pool", instant_field)),
            *(_says(**{instant_field: wrong}) for wrong in (*_NO_INSTANTS, None)),
            *schema,
        ),
        "unknown-pool": _UNKNOWN_POOL,
        "in-the-future": (_at(instant_field, _FUTURE_MS + 1, 2 * HOUR_MS),),
        "too-late": (_at(instant_field, -400 * DAY_MS, -RETENTION_DAYS * DAY_MS),),
    }


def _fresh_prize(random: Random, pool: str, player_id: str, timestamp_ms: int) -> Event:
    return prize(pool, f"lost-{random.getrandbits(48):012x}", player_id, 1, 20, format_instant(timestamp_ms))


def _fresh_link(random: Random, pool: str, player_id: str, timestamp_ms: int) -> Event:
    linked_at = format_instant(timestamp_ms)
    return {"pool": pool, "anonymous_id": device(random), "account_id": player_id, "linked_at": linked_at}


def _with_oneself(_random: Random, event: Event, _timestamp_ms: int) -> Value:
    return orjson.dumps({**event, "account_id": event["anonymous_id"]})


_PRIZES = _fact_mistakes(
    "awarded_at",
    (
        *(_lacks(name) for name in ("tournament_id", "player_id", "place", "amount")),
        *(_says(amount=wrong) for wrong in (0, -20, 12.5, 100_001, "50", None)),
        *(_says(place=wrong) for wrong in (0, 1.5, 2**31, "first")),
        *(_says(player_id=wrong) for wrong in ("", "é" * 129, 7)),
        *(_says(tournament_id=wrong) for wrong in ("", None)),
    ),
)
_LINKS = {
    **_fact_mistakes(
        "linked_at",
        (
            *(_lacks(name) for name in ("anonymous_id", "account_id")),
            *(_says(anonymous_id=wrong) for wrong in ("", "d" * 129, None)),
            *(_says(account_id=wrong) for wrong in ("", "é" * 129, 7)),
        ),
    ),
    "self-match": (_with_oneself,),
}
_FACTS: Mapping[str, tuple[Callable[[Random, str, str, int], Event], Mapping[str, tuple[Spoil, ...]]]] = {
    PRIZE_AWARDED: (_fresh_prize, _PRIZES),
    IDENTITY_LINKED: (_fresh_link, _LINKS),
}
_OF_RULESET: Mapping[str, Mapping[str, tuple[Spoil, ...]]] = {
    "gammon42": {
        "schema": (_lacks("cube"), _says(mode="rating"), _says(mode="public")),
        "unpublished-formula": tuple(_says(formula_version=wrong) for wrong in ("1.0.4", "0.9.12", "0.0.0")),
    },
    "blitzgammon": {"schema": (_lacks("length"), _says(mode="ranked"))},
    "nardeon": {"schema": (_lacks("length"), _says(mode="hosted"))},
    "season0": {"schema": (_says(mode="tournament"),)},
}
_MATCHES_OF_RULESET = {
    ruleset: {reason: _MATCHES.get(reason, ()) + own.get(reason, ()) for reason in {**_MATCHES, **own}}
    for ruleset, own in _OF_RULESET.items()
}
