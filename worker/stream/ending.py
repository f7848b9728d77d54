"""How the process is told to end: in good order, or at once and with which exit code."""

import asyncio
from collections.abc import Iterable
from typing import Any

from worker.settings import SettingsError
from worker.tables.errors import FormatError

CRASHED = 1
WRONG_SETTING = 2
DOES_NOT_FIT = 3
BUDGET_SPENT = 4


class Fatal(Exception):  # noqa: N818
    """The process has to end at once, acknowledging nothing more; `code` is its exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def is_expected(error: BaseException) -> bool:
    """Return whether the error's own sentence says all there is to say."""
    return isinstance(error, (Fatal, SettingsError, FormatError))


async def cancelled(tasks: Iterable["asyncio.Task[Any]"], within_s: float) -> bool:
    """Cancel tasks until all have ended, or `within_s` seconds are over; return whether they have.

    Again and again, since `wait_for` of Python 3.11, inside the clients of Redis and Kafka, may swallow a cancellation.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    pending = {task for task in tasks if not task.done()}
    while pending and loop.time() < deadline:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.1)
    return not pending


class Exit:
    """The process's one order to end. The first failure stands; every call is made in the event loop's thread."""

    def __init__(self) -> None:
        self._ordered = asyncio.Event()
        self._failed = asyncio.Event()
        self.code = 0
        self.reason = ""

    @property
    def ordered(self) -> bool:
        """Whether the process is to end, in whatever way."""
        return self._ordered.is_set()

    @property
    def failed(self) -> bool:
        """Whether the process is to end at once, acknowledging nothing more."""
        return self._failed.is_set()

    def drain(self, reason: str) -> None:
        """End in good order: finish the batches in hand, commit, leave the group, exit code 0."""
        self.reason = self.reason or reason
        self._ordered.set()

    def fail(self, code: int, reason: str) -> None:
        """End at once with this exit code, acknowledging nothing more; safe to call again, and while draining.

        While draining, Redis or Kafka away for too long means only that nothing more is waited for: 0 stands.
        """
        if not self.failed:
            is_given_up = self.ordered and code == BUDGET_SPENT
            self.code, self.reason = 0 if is_given_up else code, reason
            self._failed.set()
            self._ordered.set()

    def fail_with(self, error: BaseException, where: str) -> None:
        """End at once because of an exception: with its own code if it is expected, else as a crash."""
        if isinstance(error, Fatal):
            self.fail(error.code, str(error))
        elif isinstance(error, (SettingsError, FormatError)):
            self.fail(WRONG_SETTING, str(error))
        else:
            self.fail(CRASHED, f"{where} failed: {error!r}")

    async def wait(self) -> None:
        """Return once the process is to end."""
        await self._ordered.wait()

    async def wait_failed(self) -> None:
        """Return once the process is to end at once."""
        await self._failed.wait()
