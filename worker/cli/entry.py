"""The process `gammon-ratings`, from its first moment on."""

import os
import signal
import sys

_INTERRUPTED = 130  # as in worker.cli.errors, which is not read yet


def main() -> None:
    """Run the command line.

    Ctrl-C ends a command with 130 without a traceback, also while its modules are still being read. A worker ends with
    0 then, at SIGTERM too: it has taken nothing yet. Once it has, these signals are its own to handle.
    """
    is_worker = sys.argv[1:2] == ["worker"]
    for number in (signal.SIGINT, signal.SIGTERM) if is_worker else (signal.SIGINT,):
        signal.signal(number, lambda *_: os._exit(0 if is_worker else _INTERRUPTED))
    from worker.cli.main import app  # noqa: PLC0415

    if not is_worker:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
