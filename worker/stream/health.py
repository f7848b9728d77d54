"""What the worker knows of its own state, for `/readyz`, the metrics and its end."""

import contextlib
from collections import Counter
from collections.abc import Iterator


class Health:
    """Steps that fail at the moment, each with the error that it failed with last, and warnings that hold."""

    def __init__(self) -> None:
        self._failing: dict[str, str] = {}
        self._warnings: dict[str, str] = {}
        self._under_way: Counter[str] = Counter()

    def failing(self, step: str, error: str) -> bool:
        """Note that a step fails and is tried again; return whether it has worked until now."""
        is_new = step not in self._failing
        self._failing[step] = error
        return is_new

    def works(self, step: str) -> None:
        """Note that a step works (again)."""
        self._failing.pop(step, None)

    def warn(self, about: str, sentence: str | None) -> bool:
        """Note what is wrong about something although the worker may go on, None if nothing; return if that is news."""
        is_new = sentence is not None and self._warnings.get(about) != sentence
        if sentence is None:
            self._warnings.pop(about, None)
        else:
            self._warnings[about] = sentence
        return is_new

    @property
    def reasons(self) -> list[str]:
        """Why the worker is not ready, one sentence each."""
        return [f"{step} fails: {error}" for step, error in self._failing.items()]

    @property
    def warnings(self) -> list[str]:
        """What is wrong although the worker may go on, one sentence each."""
        return list(self._warnings.values())

    @contextlib.contextmanager
    def waits_for(self, step: str) -> Iterator[None]:
        """Note that the worker waits for what a step asks of Redis or Kafka, while the block lasts."""
        self._under_way[step] += 1
        try:
            yield
        finally:
            self._under_way[step] -= 1

    @property
    def under_way(self) -> list[str]:
        """The steps that wait for Redis or Kafka at the moment, failing or not."""
        return sorted(+self._under_way)
