"""Errors that a person can do something about end in one sentence and an exit code, never in a traceback."""

from typing import Any, NoReturn

import typer
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError
from typer.core import TyperGroup

from worker.rules.errors import PoolsError
from worker.settings import SettingsError
from worker.stream.topic_admin import KafkaAwayError, TopicRefusedError
from worker.stream.topics import TopicsError
from worker.tables.connect import ConnectionUrlError
from worker.tables.errors import FormatError

WRONG_SETTING = 2
AWAY = 4

_EXIT_CODES: dict[type[Exception], int] = {
    SettingsError: WRONG_SETTING,
    ConnectionUrlError: WRONG_SETTING,
    PoolsError: WRONG_SETTING,
    FormatError: WRONG_SETTING,
    TopicsError: WRONG_SETTING,
    TopicRefusedError: 1,
    KafkaAwayError: AWAY,
    KafkaError: AWAY,
    RedisError: AWAY,
    TimeoutError: AWAY,
}


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Print the sentence on standard error and end with `code`."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


class ExpectedErrors(TyperGroup):
    """A group of commands in which the errors above end in their sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except tuple(_EXIT_CODES) as error:
            code = next(code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
            fail(str(error) or type(error).__name__, code)
