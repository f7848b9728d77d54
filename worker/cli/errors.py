"""Errors that a person can do something about end in one sentence and an exit code, never in a traceback."""

from collections.abc import Mapping
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

WRONG_SETTING = 2
AWAY = 4


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
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            for kind, code in _exit_codes().items():
                if isinstance(error, kind):
                    fail(str(error) or type(error).__name__, code)
            raise


def _exit_codes() -> Mapping[type[Exception], int]:
    # Imported where an error has happened, for no command needs them all.
    from aiokafka.errors import KafkaError  # noqa: PLC0415
    from redis.exceptions import RedisError  # noqa: PLC0415

    from worker.rules.errors import PoolsError  # noqa: PLC0415
    from worker.settings import SettingsError  # noqa: PLC0415
    from worker.stream.topic_admin import KafkaAwayError, TopicRefusedError  # noqa: PLC0415
    from worker.stream.topics import TopicsError  # noqa: PLC0415
    from worker.tables.connect import ConnectionUrlError  # noqa: PLC0415
    from worker.tables.errors import FormatError  # noqa: PLC0415

    return {
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
