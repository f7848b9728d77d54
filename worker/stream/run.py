"""Running the app as a process: signals, the end in good order, and the end at once."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from time import monotonic

import structlog
import uvloop
from mode.threads import WorkerThread

from worker.settings import Settings
from worker.stream.app import WorkerApp
from worker.stream.ending import CRASHED, Exit, cancelled, is_expected

WaitsFor = Callable[[], Sequence[str]]

_log = structlog.get_logger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Together with what closing Kafka's and Redis' clients may take where neither answers, below 9 s.
_DRAIN_S = 5.0
_START_ENDS_S = 0.5
_GOOD_END_S = 9.0
_QUICK_END_S = 3.0
_THREADS_END_S = 0.5
_LOOK_S = 0.25


def run_worker(app: WorkerApp, settings: Settings, *, waits_for: WaitsFor = tuple) -> int:
    """Run the app until it is told to end, and return the exit code of the process.

    SIGTERM and SIGINT end it in good order within 10 s, wherever in its life it is: nothing more is taken, the batches
    in hand are waited for, 5 s at most, and committed, and the group is left. That is 0, also where batches are given
    up because there are too many, or because Redis or Kafka does not answer (`waits_for` names what is waited for):
    none of them is acknowledged, so they come again. It is 1 if nothing goes on though nothing is waited for, or if the
    end took too long.
    `app.leave.fail` ends it within 3 s with its code, and whatever Faust dies of with 1. What does not end in time is
    ended hard, by `os._exit`.
    """
    _quiet(settings)
    watchdog = _Watchdog(app.leave)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(app, watchdog, waits_for))
    except Exception as error:
        _log.exception("worker crashed")
        app.leave.fail_with(error, "The worker")
    for number in _SIGNALS:  # what the end is has been decided, and Python's own end would have a signal kill it
        signal.signal(number, signal.SIG_IGN)
    watchdog.watch_threads()
    if app.leave.failed:
        _log.error("worker ends", code=app.leave.code, reason=app.leave.reason)
    return app.leave.code


class _Watchdog:
    """Ends the process hard when it does not end in time: Faust joins threads in the event loop and may hang there."""

    def __init__(self, leave: Exit) -> None:
        self._leave = leave
        self._timer: threading.Timer | None = None
        self._is_over = False

    def arm(self, seconds: float) -> None:
        self.disarm()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def disarm(self) -> None:
        if self._timer:
            self._timer.cancel()

    def watch_threads(self) -> None:
        """The loop has ended; what keeps the process now, e.g. a name that is still looked up, is not waited for."""
        kept_by = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
        if any(isinstance(thread, WorkerThread) for thread in kept_by):
            return
        self._is_over = True
        self.disarm()
        if not all(thread.daemon for thread in kept_by):
            self.arm(_THREADS_END_S)

    def _end(self) -> None:
        is_decided = self._leave.failed or self._is_over
        code = self._leave.code if is_decided else CRASHED
        reason = self._leave.reason if is_decided else "the end in good order took too long"
        _log.error("worker ends hard", code=code, reason=reason)
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


async def _run(app: WorkerApp, watchdog: _Watchdog, waits_for: WaitsFor) -> None:
    _listen(app.leave)
    starting = asyncio.create_task(_start(app), name="start")
    ordered = asyncio.create_task(app.leave.wait(), name="ordered to end")
    while not app.leave.ordered and not app.should_stop:
        # Looked at from time to time, since a crash of the consumer's thread does not always wake this loop.
        await asyncio.wait({ordered}, timeout=_LOOK_S)
    if app.crashed and not app.leave.failed:
        app.leave.fail_with(app.crash_reason or RuntimeError("no reason given"), "Faust")
    # Services that are still starting stop trying; those that have started are stopped by the app.
    await cancelled({starting}, _START_ENDS_S)
    await _end(app, watchdog, waits_for)
    ordered.cancel()


def _listen(leave: Exit) -> None:
    """Have SIGTERM and SIGINT end the process in good order.

    Not by `add_signal_handler`: the closing of the loop takes that back, and a second signal would kill the process.
    """
    loop = asyncio.get_running_loop()

    def drain(number: int, _frame: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.drain, signal.Signals(number).name)

    for number in _SIGNALS:
        signal.signal(number, drain)


async def _start(app: WorkerApp) -> None:
    try:
        await app.start()
    except Exception as error:
        if not is_expected(error):
            _log.exception("start failed")
        app.leave.fail_with(error, "The start")


async def _end(app: WorkerApp, watchdog: _Watchdog, waits_for: WaitsFor) -> None:
    failed = asyncio.create_task(app.leave.wait_failed())
    stopping: asyncio.Task[None] | None = None
    if not app.leave.failed:
        _log.info("worker drains", reason=app.leave.reason, batches_in_hand=app.batches_in_hand)
        watchdog.arm(_GOOD_END_S)
        if app.batches:
            app.batches.give_up_at = monotonic() + _DRAIN_S
        stopping = asyncio.create_task(_stop(app, waits_for))
        await asyncio.wait({stopping, failed}, return_when=asyncio.FIRST_COMPLETED)
    if app.leave.failed:
        _log.error("worker fails", code=app.leave.code, reason=app.leave.reason)
        watchdog.arm(_QUICK_END_S)
        if app.batches:
            app.batches.abandon()
        await (stopping or _stop(app, waits_for))
    failed.cancel()


async def _stop(app: WorkerApp, waits_for: WaitsFor) -> None:
    in_hand_before = app.batches_in_hand
    in_hand = 0
    waited_for: Sequence[str] = ()

    async def look(_app: object, /, *_args: object, signal: object, **_kwargs: object) -> None:  # noqa: ARG001
        nonlocal in_hand, waited_for
        in_hand, waited_for = app.batches_in_hand, waits_for()

    # Sent when the batches in hand were waited for, and before agents and the consumer are stopped.
    app.on_before_shutdown.connect(look)
    await app.stop()
    if in_hand and (waited_for or in_hand < in_hand_before):
        _log.warning("batches in hand were given up; they will come again", count=in_hand, waited_for=waited_for)
    elif in_hand:
        app.leave.fail(CRASHED, f"{in_hand} batches in hand were not acknowledged in time; they will come again")


def _quiet(settings: Settings) -> None:
    level = logging.INFO if settings.log_level == "debug" else logging.WARNING
    for name in ("faust", "mode", "aiokafka", "aiohttp"):
        logging.getLogger(name).setLevel(level)
