"""What Redis holds of one pool, in the same shape as the in-memory tables hold it."""

from typing import Any, NamedTuple

from msgspec.structs import replace
from redis import Redis

from tests.integration.support.site import Site
from worker.ratings.rows import MatchRecord, Row
from worker.tables.memory import MemoryStore
from worker.tables.packing import unpack_record, unpack_row


class Held(NamedTuple):
    """One pool: rows without their last source, records by match_id, windows and leaderboard in order."""

    rows: dict[str, Row]
    records: dict[str, MatchRecord]
    windows: dict[str, list[tuple[int, bytes]]]
    leaderboard: list[str]
    position: int


def in_redis(site: Site, pool: str) -> tuple[Held, set[str]]:
    """Return what Redis holds, and the ids of the matches for which analyses are parked."""
    base = f"{site.namespace}:{{{pool}}}:"
    with Redis.from_url(site.redis_url) as client:

        def hash_of(name: str) -> dict[bytes, bytes]:
            found: Any = client.hgetall(base + name)
            return dict(found)

        rows = {name.decode(): unpack_row(row) for name, row in hash_of("players").items()}
        pipe = client.pipeline(transaction=False)
        for player in rows:
            pipe.zrange(f"{base}window:{player}", 0, -1, withscores=True)
        windows = {
            player: sorted((int(score), member) for member, score in entries)
            for player, entries in zip(rows, pipe.execute(), strict=True)
            if entries
        }
        board: Any = client.zrange(f"{base}leaderboard", 0, -1)
        position: Any = client.get(f"{base}position")
        held = Held(
            _without_source(rows),
            {name.decode(): unpack_record(record) for name, record in hash_of("matches").items()},
            windows,
            [player.decode() for player in board],
            int(position or 0),
        )
        return held, {name.decode() for name in hash_of("parked")}


def in_memory(store: MemoryStore) -> Held:
    """Return what the replay's tables hold."""
    rows = {name: unpack_row(row) for name, row in store.players.items()}
    return Held(
        _without_source(rows),
        {name: unpack_record(record) for name, record in store.matches.items()},
        {player: list(entries) for player, entries in store.windows.items() if entries},
        sorted(store.shown, key=lambda name: (-rows[name].rating, name.encode())),
        store.position,
    )


def _without_source(rows: dict[str, Row]) -> dict[str, Row]:
    # Of two equal analyses either may have been applied, and only the row tells which.
    return {name: replace(row, last_source="") for name, row in rows.items()}
