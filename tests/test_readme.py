"""The README names what people rely on, completely."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from worker.ratings.refusal import Reason
from worker.rules.pools import RULESETS
from worker.settings import PREFIX, Settings
from worker.stream.metrics import Metrics

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [f"{PREFIX}{field.upper()}" for field in Settings.model_fields])
def test_every_setting_is_told(name):
    assert f"`{name}`" in README


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"RATINGS_[A-Z_]+[A-Z]", README))))
def test_every_variable_told_is_one(variable):
    known = {f"{PREFIX}{field.upper()}" for field in Settings.model_fields} | {"RATINGS_TEST_REAL"}
    assert variable in known or variable.removesuffix("_FILE") in known


@pytest.mark.parametrize("reason", list(Reason))
def test_every_dead_letter_reason_is_told_with_what_to_do(reason):
    assert re.search(rf"^\| `{reason.value}` \|.+\|.+\|$", README, re.MULTILINE)


@pytest.mark.parametrize("ruleset", list(RULESETS))
def test_every_key_of_a_pool_is_told_with_its_default(ruleset):
    row = next(line for line in README.splitlines() if line.startswith(f"| `{ruleset}` |"))
    common = next(line for line in README.splitlines() if line.startswith("| every one |"))
    for field in fields(RULESETS[ruleset]):
        if field.init:
            assert f"`{field.name}`" in row or f"`{field.name}`" in common
            if isinstance(field.default, int | float) and f"`{field.name}`" in row:
                assert f"`{field.name}` {field.default:g}" in row


def test_every_metric_told_exists():
    told = set(re.findall(r"`(ratings_[a-z_]+)`", README))
    there = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name for metric in Metrics().registry.collect()
    }
    assert told <= there
