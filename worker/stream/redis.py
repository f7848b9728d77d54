"""How every client of ours reaches Redis, and what its errors mean to whoever set it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from redis.exceptions import (
    AuthenticationError,
    AuthenticationWrongNumberOfArgsError,
    AuthorizationError,
    InvalidResponse,
    MovedError,
    NoPermissionError,
    RedisClusterException,
    RedisError,
)

from worker.settings import Settings, SettingsError
from worker.tables.connect import RedisClient, connect, describe

REDIS_ERRORS: Final = (RedisError, RedisClusterException)

_LOGIN: Final = (AuthenticationError, AuthenticationWrongNumberOfArgsError, AuthorizationError, NoPermissionError)
_NOT_WHAT_THE_URL_SAYS: Final = {
    "DB index is out of range": "it has no such database",
    "Cluster mode is not enabled": "it is no cluster: write redis://",
    "cluster support disabled": "it is no cluster: write redis://",
    "unknown command 'SENTINEL'": "it is no sentinel: write redis://",
}


class RedisAwayError(Exception):
    """Redis does not answer, or cannot serve at the moment; the sentence names it and the setting."""


class RedisRefusedError(Exception):
    """Redis refuses what was asked; the sentence names it and the setting."""


def redis_client(settings: Settings) -> RedisClient:
    """Return a client for the Redis of the settings, which connects when it is first used."""
    return connect(settings.redis_url.get_secret_value(), password=settings.redis_secret)


def redis_at(settings: Settings) -> str:
    """Return where the Redis of the settings is, without what is secret."""
    return describe(settings.redis_url.get_secret_value())


@asynccontextmanager
async def open_redis(settings: Settings) -> AsyncIterator[RedisClient]:
    """Give a client to a command that asks once.

    Whatever the client raises in the block becomes SettingsError, RedisAwayError or RedisRefusedError.
    """
    client = redis_client(settings)
    try:
        with naming_wrong_settings(settings):
            yield client
    except REDIS_ERRORS as error:
        from worker.stream.retry import is_transient  # noqa: PLC0415 it knows Kafka too, which most commands need not

        if is_transient(error):
            raise RedisAwayError(
                f"Redis at {redis_at(settings)} cannot be used: {_words(error)}. Start it, or see to RATINGS_REDIS_URL."
            ) from error
        raise RedisRefusedError(
            f"Redis at {redis_at(settings)} (RATINGS_REDIS_URL) refuses what was asked: {_words(error)}."
        ) from error
    finally:
        await client.aclose()


@contextmanager
def naming_wrong_settings(settings: Settings) -> Iterator[None]:
    """Raise SettingsError instead of an error of Redis that no waiting will mend: a wrong login, or another server."""
    try:
        yield
    except REDIS_ERRORS as error:
        if sentence := _wrong_setting(error, settings):
            raise SettingsError(sentence) from error
        raise


def _wrong_setting(error: BaseException, settings: Settings) -> str | None:
    where = redis_at(settings)
    for cause in _causes(error):
        text = str(cause)
        if isinstance(cause, _LOGIN):
            return f"RATINGS_REDIS_URL, RATINGS_REDIS_PASSWORD: Redis refuses the login at {where}: {_words(cause)}."
        if isinstance(cause, InvalidResponse):
            return f"RATINGS_REDIS_URL: what answers at {where} is no Redis ({_words(cause)})."
        if isinstance(cause, MovedError) and "+cluster" not in where:
            return f"RATINGS_REDIS_URL: what answers at {where} is part of a cluster: write redis+cluster://."
        for words, meaning in _NOT_WHAT_THE_URL_SAYS.items():
            if words in text:
                return f"RATINGS_REDIS_URL: {where} does not fit what answers there: {meaning} ({_words(cause)})."
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, and what it was raised from: the cluster's client wraps what its nodes say."""
    while error is not None:
        yield error
        error = error.__cause__


def _words(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".? ")
