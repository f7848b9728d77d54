"""How long causes wait in the outbox, as far as any worker has seen; kept in Redis, so that it outlives workers."""

from importlib.resources import files
from typing import Any, Final

from worker.tables.connect import RedisClient

MOST_WATCHED: Final = 200
"""Most entries whose first sight is kept at a time, so that a look costs little however full the outbox is."""


class OutboxAge:
    """The outbox of one pool, looked at again and again.

    An entry counts from the first look that found it. Where more than MOST_WATCHED wait, each look takes up others at
    random in place of those that were settled, so one that stays is found after some looks.
    """

    def __init__(self, client: RedisClient, namespace: str, pool: str) -> None:
        base = f"{namespace}:{{{pool}}}:"
        self._keys = [f"{base}heads", f"{base}first-seen"]
        self._script: Any = client.register_script(files("worker.tables").joinpath("lua/outbox_age.lua").read_text())

    async def oldest_s(self) -> float:
        """Look, and return for how many seconds the oldest entry has been seen: 0 for an empty outbox."""
        return float(await self._script(keys=self._keys, args=[MOST_WATCHED])) / 1000
