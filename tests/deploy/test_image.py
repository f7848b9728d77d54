"""What the image and the wheel bring: what a worker needs, and not what only the demo and the tests need."""

import re
from pathlib import Path

import pytest
from hatchling.build import prepare_metadata_for_build_wheel

_ROOT = Path(__file__).parents[2]
_DEMO = "noida-db"


def _locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", (_ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_the_embedded_server_is_not_in_the_image_and_make_brings_it() -> None:
    assert _DEMO not in _locked("requirements.lock")
    assert _DEMO in _locked("requirements-dev.lock")


def test_what_is_developed_and_tested_with_contains_what_ships() -> None:
    assert _locked("requirements.lock") <= _locked("requirements-dev.lock")


def test_the_wheel_requires_the_embedded_server_for_the_demo_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_ROOT)
    metadata = tmp_path / prepare_metadata_for_build_wheel(str(tmp_path)) / "METADATA"
    required = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text(encoding="utf-8"), re.MULTILINE)
    assert [line for line in required if line.startswith(_DEMO)] == [f"{_DEMO}; extra == 'demo'"]
