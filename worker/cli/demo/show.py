"""Progress as it is seen: a table that moves on a terminal, a plain line now and then elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from worker.cli.demo.rating import Progress

_LINE_EVERY_S = 5.0
_RATE_OVER_S = 3.0


@contextmanager
def shown_progress(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Give what shows each progress it is called with."""
    rate = _Rate()
    if console.is_terminal:
        with Live(console=console, refresh_per_second=8, transient=True) as live:
            yield lambda progress: live.update(_table(progress, rate.add(progress)))
        return
    shown_at = -_LINE_EVERY_S

    def line(progress: Progress) -> None:
        nonlocal shown_at
        a_second = rate.add(progress)
        if time.monotonic() - shown_at > _LINE_EVERY_S:
            shown_at = time.monotonic()
            text = ", ".join(f"{name} {value}" for name, value in _numbers(progress, a_second))
            console.print(text, highlight=False, soft_wrap=True)

    yield line


class _Rate:
    """Answered events a second, over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, progress: Progress) -> float:
        now = time.monotonic()
        self._seen.append((now, progress.answered))
        while len(self._seen) > 2 and now - self._seen[0][0] > _RATE_OVER_S:
            self._seen.popleft()
        began, answered = self._seen[0]
        return (progress.answered - answered) / max(now - began, 1e-9)


def _numbers(progress: Progress, a_second: float) -> list[tuple[str, str]]:
    return [
        ("events in", f"{progress.published:,}"),
        ("answered", f"{progress.answered:,}"),
        ("lag", f"{max(0, progress.published - progress.answered):,}"),
        ("rating changes out", f"{progress.changes:,}"),
        ("events a second", f"{a_second:,.0f}"),
    ]


def _table(progress: Progress, a_second: float) -> Table:
    table = Table()
    numbers = _numbers(progress, a_second)
    for name, _ in numbers:
        table.add_column(name, justify="right", min_width=9)
    table.add_row(*(value for _, value in numbers))
    return table
