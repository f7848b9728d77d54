"""What the worker knows of its own state, for `/readyz` and the metrics."""


class Health:
    """Steps that fail at the moment, each with the error that it failed with last, and warnings that hold."""

    def __init__(self) -> None:
        self._failing: dict[str, str] = {}
        self._warnings: dict[str, str] = {}

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
