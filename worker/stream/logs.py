"""Structured logs on standard error: one line an occurrence, as JSON or for people."""

import logging
import sys

import structlog

from worker.settings import Settings

_LIBRARIES = frozenset(("aiokafka", "faust", "mode", "redis", "aiohttp"))


class _Seldom(logging.Filter):
    """Lets a library say the same thing once in a while only: with Kafka away, clients log dozens of lines a second."""

    def __init__(self, every_s: float) -> None:
        super().__init__()
        self._every_s = every_s
        self._said: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the line is ours, or was not said lately."""
        if record.name.split(".")[0] not in _LIBRARIES:
            return True
        what = (record.name, str(record.msg))
        is_due = record.created - self._said.get(what, 0.0) >= self._every_s
        if is_due:
            self._said[what] = record.created
        return is_due


def configure_logs(settings: Settings) -> None:
    """Set up logging for the process, for our own lines and those of the libraries."""
    shared: list[structlog.types.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    handler.addFilter(_Seldom(every_s=10))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
