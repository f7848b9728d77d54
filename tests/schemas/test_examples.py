"""The published schemas against the examples beside them, through the very files that the worker runs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator, ValidationError

from worker.files import packaged

SCHEMAS = packaged("schemas")
TOPICS = (
    "identity-linked",
    "match-analyzed",
    "match-excluded",
    "match-finished",
    "rating-changed",
    "tournament-prize-awarded",
)
RULESETS = ("gammon42", "blitzgammon", "nardeon", "season0")


@cache
def schema(topic: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{topic}.schema.json").read_bytes())


@cache
def validator(topic: str, ruleset: str | None = None) -> Draft202012Validator:
    if ruleset is None:
        return Draft202012Validator(schema(topic))
    return Draft202012Validator({"$ref": f"#/$defs/{ruleset}", "$defs": schema(topic)["$defs"]})


def examples(kind: str) -> list[Any]:
    found = sorted(SCHEMAS.glob(f"examples/*/{kind}/*.json"))
    return [pytest.param(path, id=f"{path.parent.parent.name}/{path.stem}") for path in found]


def topic_of(path: Path) -> str:
    return path.parent.parent.name


def pointers(error: ValidationError) -> set[str]:
    """All fields that an error may be about: where it is, and what is missing or too much there."""
    here = "".join(f"/{part}" for part in error.instance_path)
    named = error.kind.as_dict()
    missing = {f"{here}/{named['property']}"} if "property" in named else set()
    inner = {
        pointer
        for branch in named.get("context", ())
        for each in branch
        for pointer in (pointers(each) if isinstance(each, ValidationError) else ())
    }
    return {here} | missing | inner


@pytest.mark.parametrize("path", examples("valid"))
def test_a_valid_example_is_accepted(path: Path) -> None:
    event = json.loads(path.read_bytes())
    topic = topic_of(path)
    assert [str(error) for error in validator(topic).iter_errors(event)] == []
    if topic == "match-finished":
        assert [str(error) for error in validator(topic, event["pool"]).iter_errors(event)] == []


@pytest.mark.parametrize("path", examples("invalid"))
def test_an_invalid_example_is_refused_at_its_pointer(path: Path) -> None:
    example = json.loads(path.read_bytes())
    assert example["why"]
    topic, ruleset = topic_of(path), example.get("ruleset")
    if ruleset is not None:
        assert validator(topic).is_valid(example["event"]), "only the ruleset's part is to refuse this one"
    errors = list(validator(topic, ruleset).iter_errors(example["event"]))
    assert errors
    assert example["pointer"] in set().union(*map(pointers, errors))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_a_valid_schema_with_title_and_enough_examples(topic: str) -> None:
    jsonschema_rs.meta.validate(schema(topic))
    assert schema(topic)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(topic)["title"]
    assert schema(topic)["description"]
    assert len(list(SCHEMAS.glob(f"examples/{topic}/valid/*.json"))) >= 5
    assert len(list(SCHEMAS.glob(f"examples/{topic}/invalid/*.json"))) >= 10


def test_there_is_no_schema_beside_these_topics() -> None:
    assert sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")) == sorted(TOPICS)


def test_every_field_says_what_it_is() -> None:
    silent = [
        f"{topic}: {field}"
        for topic in TOPICS
        for field, part in schema(topic)["properties"].items()
        if not ({"title", "description"} & part.keys())
        and part != {"$ref": "#/$defs/id"}
        and part != {"$ref": "#/$defs/pool"}
    ]
    assert silent == []


@pytest.mark.parametrize("ruleset", RULESETS)
def test_every_ruleset_has_its_part(ruleset: str) -> None:
    assert schema("match-finished")["$defs"][ruleset]["title"].startswith(ruleset)


@pytest.mark.parametrize("name", ["id", "instant", "pr"])
def test_input_schemas_agree_on_what_they_share(name: str) -> None:
    inputs = ("match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked")
    shared = [schema(topic)["$defs"][name] for topic in inputs if name in schema(topic)["$defs"]]
    assert all(part == shared[0] for part in shared)


def test_an_output_accepts_no_unknown_field() -> None:
    assert all(schema(topic)["additionalProperties"] is False for topic in ("rating-changed", "match-excluded"))
