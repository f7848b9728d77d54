"""The rated games of every player, in the order in which windows count them."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from worker.ratings.rows import WindowEntry
from worker.ratings.state import WindowQuery

_INSTANT_BYTES: Final = 8
_SHIFT: Final = 1 << 63
"""Makes instants before 1970 sort as bytes too."""


class Windows(Mapping[WindowQuery, int]):
    """Answers how many games of a player lie in the `window_ms` before a match; counts for itself, from all games."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._games: dict[str, list[bytes]] = {}

    def add(self, entries: Sequence[WindowEntry]) -> None:
        """Add a game to the windows of its players."""
        if entries:
            game = _at(entries[0].finished_at_ms) + entries[0].match_id.encode()
            for entry in entries:  # all of one match
                insort(self._games.setdefault(entry.player_id, []), game)

    def __getitem__(self, query: WindowQuery) -> int:
        player_id, finished_at_ms, match_id = query
        games = self._games.get(player_id, [])
        before = bisect_left(games, _at(finished_at_ms) + match_id.encode())
        return before - bisect_left(games, _at(finished_at_ms - self._window_ms))

    def games(self, player_id: str) -> Iterator[tuple[int, str]]:
        """Yield (finished_at_ms, match_id) of all games of a player, in order."""
        for packed in self._games.get(player_id, ()):
            yield int.from_bytes(packed[:_INSTANT_BYTES]) - _SHIFT, packed[_INSTANT_BYTES:].decode()

    def __iter__(self) -> Iterator[WindowQuery]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _at(instant_ms: int) -> bytes:
    return (instant_ms + _SHIFT).to_bytes(_INSTANT_BYTES)
