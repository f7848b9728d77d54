"""Running the app as a process: signals, the end in good order, and the end at once."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading

import structlog
import uvloop
from mode.threads import WorkerThread

from worker.settings import Settings
from worker.stream.app import WorkerApp
from worker.stream.ending import CRASHED, Exit, is_expected

_log = structlog.get_logger(__name__)

_DRAIN_S = 6.0
_GOOD_END_S = 9.0
_QUICK_END_S = 3.0
_LOOK_S = 0.25


def run_worker(app: WorkerApp, settings: Settings) -> int:
    """Run the app until it is told to end, and return the exit code of the process.

    SIGTERM and SIGINT end it in good order within 10 s: nothing more is taken, the batches in hand are waited for and
    committed, and the group is left: 0, or 1 if that took too long. `app.leave.fail` ends it within 3 s with its code,
    and whatever Faust dies of with 1. What does not end in time is ended hard, by `os._exit`.
    """
    _quiet(settings)
    watchdog = _Watchdog(app.leave)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(app, watchdog))
    except Exception as error:
        _log.exception("worker crashed")
        app.leave.fail_with(error, "The worker")
    if not any(isinstance(thread, WorkerThread) for thread in threading.enumerate()):
        watchdog.disarm()
    if app.leave.failed:
        _log.error("worker ends", code=app.leave.code, reason=app.leave.reason)
    return app.leave.code


class _Watchdog:
    """Ends the process hard when it does not end in time: Faust joins threads in the event loop and may hang there."""

    def __init__(self, leave: Exit) -> None:
        self._leave = leave
        self._timer: threading.Timer | None = None

    def arm(self, seconds: float) -> None:
        self.disarm()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def disarm(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _end(self) -> None:
        code = self._leave.code or CRASHED
        reason = self._leave.reason if self._leave.failed else "the end in good order took too long"
        _log.error("worker ends hard", code=code, reason=reason)
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


async def _run(app: WorkerApp, watchdog: _Watchdog) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, app.leave.drain, number.name)
    starting = asyncio.create_task(_start(app), name="start")
    ordered = asyncio.create_task(app.leave.wait(), name="ordered to end")
    while not app.leave.ordered and not app.should_stop:
        # Looked at from time to time, since a crash of the consumer's thread does not always wake this loop.
        await asyncio.wait({ordered}, timeout=_LOOK_S)
    if app.crashed and not app.leave.failed:
        app.leave.fail_with(app.crash_reason or RuntimeError("no reason given"), "Faust")
    # Services that are still starting stop trying; those that have started are stopped by the app.
    starting.cancel()
    await _end(app, watchdog)
    ordered.cancel()


async def _start(app: WorkerApp) -> None:
    try:
        await app.start()
    except Exception as error:
        if not is_expected(error):
            _log.exception("start failed")
        app.leave.fail_with(error, "The start")


async def _end(app: WorkerApp, watchdog: _Watchdog) -> None:
    failed = asyncio.create_task(app.leave.wait_failed())
    stopping: asyncio.Task[None] | None = None
    if not app.leave.failed:
        _log.info("worker drains", reason=app.leave.reason, batches_in_hand=app.batches_in_hand)
        watchdog.arm(_GOOD_END_S)
        if app.batches:
            app.batches.patience_s = _DRAIN_S
        stopping = asyncio.create_task(_stop(app))
        await asyncio.wait({stopping, failed}, return_when=asyncio.FIRST_COMPLETED)
    if app.leave.failed:
        _log.error("worker fails", code=app.leave.code, reason=app.leave.reason)
        watchdog.arm(_QUICK_END_S)
        if app.batches:
            app.batches.abandon()
        await (stopping or _stop(app))
    failed.cancel()


async def _stop(app: WorkerApp) -> None:
    in_hand = 0

    async def look(_app: object, /, *_args: object, signal: object, **_kwargs: object) -> None:  # noqa: ARG001
        nonlocal in_hand
        in_hand = app.batches_in_hand

    # Sent when the batches in hand were waited for, and before agents and the consumer are stopped.
    app.on_before_shutdown.connect(look)
    await app.stop()
    if in_hand:
        app.leave.fail(CRASHED, f"{in_hand} batches in hand were not acknowledged in time; they will come again")


def _quiet(settings: Settings) -> None:
    level = logging.INFO if settings.log_level == "debug" else logging.WARNING
    for name in ("faust", "mode", "aiokafka", "aiohttp"):
        logging.getLogger(name).setLevel(level)
