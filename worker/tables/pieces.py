"""All that a pool holds, read in pieces, each of one instant, for whoever compares it. Nothing is written."""

from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from worker.tables.answers import stored
from worker.tables.connect import RedisClient
from worker.tables.tables import Stored

_FIELDS_AT_ONCE: Final = 1000
_PLAYERS_AT_ONCE: Final = 200


class HeldPlayer(NamedTuple):
    """What is kept of one player: the packed row, the score on the leaderboard, and (match_id, finished_at_ms)s."""

    row: bytes | None
    score: float | None
    games: Sequence[tuple[str, float]]


class Players(NamedTuple):
    """Some players as they stood at a position; entries of windows may be pruned that end before the horizon."""

    position: int
    horizon_ms: int
    held: Mapping[str, HeldPlayer]


class Fields(NamedTuple):
    """Some packed values of a hash, by field, as they stood at a position; `asked` are those asked for by name."""

    position: int
    horizon_ms: int
    held: Mapping[bytes, bytes]
    asked: Sequence[bytes] = ()


class Pieces:
    """The tables of one pool. What is added while they are read may be left out, what stays is not."""

    def __init__(self, client: RedisClient, namespace: str, pool: str) -> None:
        self._client: Any = client
        self._base = f"{namespace}:{{{pool}}}:"
        self._scripts = {
            verb: client.register_script(files("worker.tables").joinpath(f"lua/{verb}.lua").read_text())
            for verb in ("scan", "fields", "standing", "waiting")
        }

    def _keys(self, *names: str) -> list[str]:
        return [self._base + name for name in names]

    async def player_ids(self) -> AsyncIterator[list[str]]:
        """Yield the ids of all players who have a row."""
        cursor = 0
        while True:
            cursor, found = await self._client.hscan(f"{self._base}players", cursor, count=_FIELDS_AT_ONCE)
            yield [name.decode() for name in found]
            if not cursor:
                return

    async def shown_ids(self) -> AsyncIterator[list[str]]:
        """Yield the ids of all who are on the leaderboard."""
        cursor = 0
        while True:
            cursor, found = await self._client.zscan(f"{self._base}leaderboard", cursor, count=_FIELDS_AT_ONCE)
            yield [name.decode() for name, _ in found]
            if not cursor:
                return

    async def players(self, player_ids: Sequence[str]) -> AsyncIterator[Players]:
        """Yield what is kept of these players, whether or not they have a row."""
        for first in range(0, len(player_ids), _PLAYERS_AT_ONCE):
            ids = player_ids[first : first + _PLAYERS_AT_ONCE]
            windows = self._keys(*(f"window:{player_id}" for player_id in ids))
            keys = [*self._keys("players", "leaderboard", "position", "horizon"), *windows]
            rows, scores, games, position, horizon = await self._scripts["standing"](keys=keys, args=ids)
            held = {
                player_id: HeldPlayer(row, None if score is None else float(score), _games(entries))
                for player_id, row, score, entries in zip(ids, rows, scores, games, strict=True)
            }
            yield Players(int(position), int(horizon), held)

    async def hash_of(self, name: str) -> AsyncIterator[Fields]:
        """Yield all fields of `matches`, `prizes` or `aliases`."""
        cursor = b"0"
        while True:
            keys = self._keys(name, "position", "horizon")
            cursor, found, position, horizon = await self._scripts["scan"](keys=keys, args=[cursor, _FIELDS_AT_ONCE])
            yield Fields(int(position), int(horizon), _pairs(found))
            if cursor == b"0":
                return

    async def fields_of(self, name: str, fields: Sequence[bytes]) -> AsyncIterator[Fields]:
        """Yield these fields of a hash, where they are there."""
        for first in range(0, len(fields), _FIELDS_AT_ONCE):
            keys, asked = self._keys(name, "position", "horizon"), fields[first : first + _FIELDS_AT_ONCE]
            found, position, horizon = await self._scripts["fields"](keys=keys, args=asked)
            yield Fields(int(position), int(horizon), _pairs(found), asked)

    async def sizes(self) -> tuple[int, int]:
        """Return how many players and match records there are."""
        return int(await self._client.hlen(f"{self._base}players")), int(
            await self._client.hlen(f"{self._base}matches")
        )

    async def waiting(self) -> list[Stored]:
        """Return what is committed and not settled, in order of position; some of it may be published."""
        return stored(await self._scripts["waiting"](keys=self._keys("outbox", "heads")))

    async def position(self) -> int:
        """Return the highest position that was given."""
        return int(await self._client.get(f"{self._base}position") or 0)


def _games(flat: Sequence[bytes]) -> list[tuple[str, float]]:
    return [(name.decode(), float(score)) for name, score in zip(flat[::2], flat[1::2], strict=True)]


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
