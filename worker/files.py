"""Files that lie at the repository's top level and travel inside the wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def packaged(relative: str) -> Path:
    """Return the path of a shipped file, e.g. `schemas/match-finished.schema.json`, installed or in a checkout."""
    installed = _PACKAGE / "packaged" / relative
    return installed if installed.exists() else _PACKAGE.parent / relative
