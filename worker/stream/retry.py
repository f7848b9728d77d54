"""Trying again while Redis or Kafka is away, up to a budget."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from aiokafka.errors import KafkaError
from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MaxConnectionsError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)
from redis.exceptions import (
    TimeoutError as RedisTimeoutError,
)

from worker.stream.ending import BUDGET_SPENT, Fatal
from worker.stream.health import Health
from worker.stream.publish import PublishError

log = structlog.get_logger()

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0
LEAST_TRY_S = 10.0
"""The least time that a call has to answer, in seconds, also where less of the budget is left."""

TRANSIENT: tuple[type[Exception], ...] = (
    RedisConnectionError,
    RedisTimeoutError,
    BusyLoadingError,
    MaxConnectionsError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    ClusterError,
    ClusterDownError,
    TryAgainError,
    KafkaError,
    PublishError,
    OSError,
)
_PASSING_REPLIES = ("MISCONF", "NOREPLICAS", "MASTERDOWN", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "MOVED", "ASK", "BUSY")
_CLOSED = "the handler is closed"


def is_transient(error: Exception) -> bool:
    """Return whether the same call may succeed later, without anything being wrong with what was asked."""
    if isinstance(error, TRANSIENT):
        return True
    if isinstance(error, ResponseError):
        return str(error).startswith(_PASSING_REPLIES)
    # How uvloop reports a connection that was closed between two writes of one command.
    return isinstance(error, RuntimeError) and _CLOSED in str(error)


def shown(error: BaseException) -> str:
    """Return an error for people: in the repr of those of Redis their words are missing."""
    return f"{type(error).__name__}: {error}" if str(error) else repr(error)


async def retried(what: str, call: Callable[[], Awaitable[T]], budget_s: float, health: Health) -> T:
    """Return what `call` returns, tried again with growing pauses while it fails for a passing reason.

    Raises Fatal with exit code 4 when `budget_s` seconds are spent, after a last try at their end; a call that does not
    answer is cancelled then, or after 10 s if that is later. Any other error is the caller's.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + budget_s
    pause = FIRST_PAUSE_S
    with health.waits_for(what):
        while True:
            is_last = loop.time() >= deadline
            try:
                async with asyncio.timeout(max(deadline - loop.time(), LEAST_TRY_S)):
                    result = await call()
            except Exception as error:
                if not is_transient(error):
                    raise
                words = shown(error)
                if is_last:
                    message = f"{what} failed for {budget_s:g} s (RATINGS_RETRY_S), nothing was acknowledged: {words}"
                    raise Fatal(BUDGET_SPENT, message) from error
                health.failing(what, words)
                log.warning("trying again", step=what, error=words, pause_s=round(pause, 3))
                spread = pause * random.uniform(0.5, 1.0)  # noqa: S311 spreads workers, keeps no secret
                await asyncio.sleep(max(0.0, min(spread, deadline - loop.time())))
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                health.works(what)
                return result
