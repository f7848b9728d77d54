"""Events and what decoding makes of them, for the tests of the decoder."""

import json
from typing import Any

from worker.files import packaged
from worker.ratings.delivery import Delivery, Source
from worker.ratings.instants import parse_instant
from worker.ratings.refusal import Refusal
from worker.rules.match import MatchFinished
from worker.rules.pools import parse_pools
from worker.stream.decode import Decoded, Decoder

POOLS = parse_pools(packaged("deploy/pools.toml").read_text())
MATCHES, ANALYSES = Decoder("match-finished", POOLS), Decoder("match-analyzed", POOLS)
PRIZES, LINKS = Decoder("tournament-prize-awarded", POOLS), Decoder("identity-linked", POOLS)
AT = "2026-10-05T12:34:56.789Z"
AT_MS = parse_instant(AT)

GAME: dict[str, Any] = {
    "match_id": "m-1",
    "pool": "gammon42",
    "winner": {"player_id": "ann"},
    "loser": {"player_id": "bob"},
    "finished_at": AT,
    "mode": "ranked",
    "cube": 2,
}
ANALYSIS: dict[str, Any] = {
    "match_id": "m-1",
    "pool": "blitzgammon",
    "players": [{"player_id": "ann", "pr": 4.25}, {"player_id": "bob", "pr": None}],
    "analyzed_at": AT,
}
PRIZE: dict[str, Any] = {
    "tournament_id": "t-1",
    "pool": "gammon42",
    "player_id": "ann",
    "place": 2,
    "amount": 25,
    "awarded_at": AT,
}
LINK: dict[str, Any] = {"pool": "season0", "anonymous_id": "anon", "account_id": "ann", "linked_at": AT}


def delivery(value: bytes | None, timestamp_ms: int = AT_MS + 1000) -> Delivery:
    return Delivery(Source("match-finished", 3, 17), timestamp_ms, b"key", value, (("h", b"v"),))


def decode(event: object, timestamp_ms: int = AT_MS + 1000, decoder: Decoder = MATCHES) -> Decoded:
    value = event if isinstance(event, bytes) else json.dumps(event).encode()
    return decoder.decode(delivery(value, timestamp_ms))


def refusal(decoded: Decoded) -> Refusal:
    assert decoded.event is None
    assert decoded.refusal is not None
    assert decoded.refusal.message.isascii()
    assert decoded.refusal.message.isprintable()
    assert len(decoded.refusal.message) <= 300
    return decoded.refusal


def match(decoded: Decoded) -> MatchFinished:
    assert decoded.refusal is None
    assert isinstance(decoded.event, MatchFinished)
    return decoded.event
