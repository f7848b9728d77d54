"""What a command has to say beside the arithmetic of a match: sentences for people, the same as facts for programs."""

from typing import Any, NamedTuple


class Told(NamedTuple):
    """Sentences, one or more a line, and the facts they are made of, by their JSON names."""

    says: tuple[str, ...]
    facts: dict[str, Any]

    def as_text(self) -> str:
        """Return what a person reads."""
        return "\n".join(self.says)

    def as_json(self) -> dict[str, Any]:
        """Return what a program reads, the sentences under `says`."""
        return {**self.facts, "says": list(self.says)}


class Published(NamedTuple):
    """When an event was published, in UTC ms; `given` is false where that is only assumed to be now."""

    at_ms: int
    given: bool
