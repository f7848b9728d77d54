"""Looking at Kafka and Redis every few seconds, each for itself: one that hangs holds up no look at the other."""

import asyncio
from typing import Protocol

import structlog

from worker.stream.ending import BUDGET_SPENT, Fatal
from worker.stream.health import Health
from worker.stream.retry import is_transient, shown

log = structlog.get_logger()

LOOK_EVERY_S = 3.0
LOOK_WITHIN_S = 5.0


class Watch(Protocol):
    """Something to look at: `step` names the look in readiness."""

    step: str

    async def look(self) -> None:
        """Look, and set the gauges to what was seen."""

    def forget(self) -> None:
        """Set the gauges to what is known after a look that failed."""


async def keep_looking(watch: Watch, health: Health, budget_s: float) -> None:
    """Look for ever, every LOOK_EVERY_S seconds; a look that takes longer than LOOK_WITHIN_S has failed.

    Raises Fatal with exit code 4 once looks have failed for `budget_s` seconds on end, and at once whatever a look
    raises that will not pass.
    """
    loop = asyncio.get_running_loop()
    failing_since: float | None = None
    while True:
        pause_s = LOOK_EVERY_S
        try:
            async with asyncio.timeout(LOOK_WITHIN_S) as limit:
                await watch.look()
        except Exception as error:
            if not is_transient(error):
                raise
            watch.forget()
            why = f"no answer within {LOOK_WITHIN_S:g} s" if limit.expired() else shown(error)
            if health.failing(watch.step, why):
                log.warning("not ready", step=watch.step, error=why)
            failing_since = loop.time() if failing_since is None else failing_since
            left_s = failing_since + budget_s - loop.time()
            if left_s <= 0:
                message = f"{watch.step} failed for {budget_s:g} s (RATINGS_RETRY_S), nothing was acknowledged: {why}"
                raise Fatal(BUDGET_SPENT, message) from error
            pause_s = min(pause_s, left_s)
        else:
            failing_since = None
            health.works(watch.step)
        await asyncio.sleep(pause_s)
