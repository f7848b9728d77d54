"""No test is a timed test: a slow day must not make one fail."""

import re
from pathlib import Path

from hypothesis import HealthCheck, settings

_OF_ITS_OWN = re.compile(r"\bdeadline=|\bsuppress_health_check=|\bmark\.timeout\b")


def test_no_example_has_a_deadline_or_is_too_slow() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_no_test_sets_a_bound_of_its_own() -> None:
    here = Path(__file__).parent
    others = [path for path in here.rglob("*.py") if path not in {Path(__file__), here / "conftest.py"}]
    assert not [path for path in others if _OF_ITS_OWN.search(path.read_text(encoding="utf-8"))]
