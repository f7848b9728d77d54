"""Errors that a person can do something about end in one sentence and an exit code, never in a traceback."""

import errno
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

WRONG_SETTING = 2
AWAY = 4
INTERRUPTED = 130

_OUTPUT_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Print the sentence on standard error and end with `code`."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


class ExpectedErrors(TyperGroup):
    """A group of commands in which the errors below end in their sentence."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; output that cannot be written ends it with 1 (Typer itself sees to a closed pipe)."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in _OUTPUT_FULL or error.filename is not None:
                raise
            # What is left in the buffer would fail once more when Python flushes it at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            typer.echo(f"The output could not be written: {error.strerror}.", err=True)
            sys.exit(1)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            for kind, code in _exit_codes().items():
                if isinstance(error, kind):
                    fail(_sentence(error), code)
            raise


def _exit_codes() -> Mapping[type[Exception], int]:
    # Imported where an error has happened: whoever raised it has its module, and no command needs them all.
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    from worker.rules.errors import PoolsError  # noqa: PLC0415
    from worker.settings import SettingsError  # noqa: PLC0415
    from worker.stream.redis import RedisAwayError, RedisRefusedError  # noqa: PLC0415
    from worker.stream.topic_admin import TopicRefusedError  # noqa: PLC0415
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
        RedisRefusedError: 1,
        RedisAwayError: AWAY,
        KafkaError: AWAY,
        TimeoutError: AWAY,
    }


def _sentence(error: Exception) -> str:
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    from worker.stream.kafka import KafkaAwayError  # noqa: PLC0415

    words = str(error) or type(error).__name__
    if isinstance(error, KafkaAwayError) or not isinstance(error, KafkaError | TimeoutError):
        return words
    return f"Kafka did not do what was asked ({words}): see to its brokers, or to RATINGS_KAFKA_BOOTSTRAP."
