"""Progress of an audit as it is seen: a bar for each step on a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class Bars:
    """Steps that are shown one below the other."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def step(self, name: str, total: int) -> None:
        """Begin a step of about `total` parts, or have that many more of it to come."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=0)
        task = self._tasks[name]
        known = next(shown.total or 0 for shown in self._progress.tasks if shown.id == task)
        self._progress.update(task, total=known + total)

    def advance(self, name: str, parts: int) -> None:
        """Show that so many more parts of a step are done."""
        self._progress.advance(self._tasks[name], parts)


@contextmanager
def shown_bars(console: Console) -> Iterator[Bars]:
    """Give bars, which are gone afterwards."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        yield Bars(progress)
