"""The published JSON Schemas, as the worker runs them, and their complaints as sentences for a publisher."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from jsonschema_rs import Draft202012Validator, ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from worker.files import packaged

_SENTENCE_MAX: Final = 300
_ECHO_MAX: Final = 40
_DEEPEST_KNOWN: Final = 3
"""Containers of known fields nest at most this deep; what lies deeper cannot explain an error."""

_CONDITION: Final = " for a match that is to be rated"
"""What every `if` of the input schemas asks."""

_TYPES: Final[Mapping[str, str]] = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


class EventSchema:
    """One file of `schemas/`: the root that every pool shares, and the part of each ruleset in its `$defs`."""

    def __init__(self, kind: str) -> None:
        """Load `schemas/<kind>.schema.json`; `kind` is a topic's name without prefix."""
        self.kind = kind
        self._schema: Mapping[str, Any] = orjson.loads(packaged(f"schemas/{kind}.schema.json").read_bytes())
        self._titles = dict(_titles_of_patterns(self._schema))
        self.root = Draft202012Validator(dict(self._schema))

    def branch(self, ruleset: str) -> Draft202012Validator:
        """Return the validator of a ruleset's own part; raise LookupError if the file has none."""
        return Draft202012Validator({**self._branch(ruleset), "$defs": self._schema["$defs"]})

    def whole(self, ruleset: str) -> Draft202012Validator:
        """Return the validator of the root and a ruleset's own part in one pass; raise LookupError if there is none."""
        return Draft202012Validator({**self._schema, "allOf": [self._branch(ruleset)]})

    def _branch(self, ruleset: str) -> dict[str, str]:
        if ruleset not in self._schema["$defs"]:
            raise LookupError(f"schemas/{self.kind}.schema.json has no $defs/{ruleset}: add the ruleset's modes there")
        return {"$ref": f"#/$defs/{ruleset}"}

    def explain(self, validator: Draft202012Validator, event: object, where: str = "") -> str:
        """Return the first complaint about an event that `validator` refuses, as one ASCII sentence.

        `where` says which events the rule is for, for instance ` in a gammon42 pool`.
        """
        error = next(validator.iter_errors(_shallow(event)), None)
        if error is None:
            return sentence(f"The value does not match schemas/{self.kind}.schema.json{where}.")
        if isinstance(error.kind, Kind.Required):
            missing = _pointer([*error.instance_path, error.kind.property])
            return sentence(f"{missing} is required{where}{_CONDITION if 'then' in error.schema_path else ''}.")
        subject = _pointer(error.instance_path) or "The value"
        return sentence(f"{subject} must be {self._expected(error)}{where}, but is {echo(error.instance)}.")

    def _expected(self, error: ValidationError) -> str:
        match error.kind:
            case Kind.Type(types):
                return " or ".join(_TYPES[name] for name in sorted(types, reverse=True))
            case Kind.Enum(options):
                return "one of " + ", ".join(map(echo, options))
            case Kind.Minimum(limit):
                return f"at least {limit}"
            case Kind.Maximum(limit):
                return f"at most {limit}"
            case Kind.MinLength(limit):
                return f"a string of at least {limit} character{'s'[: limit > 1]}"
            case Kind.MaxLength(limit):
                return f"a string of at most {limit} characters"
            case Kind.MinItems(limit) | Kind.MaxItems(limit):
                return f"an array of exactly {limit} items"
            case Kind.Pattern(pattern):
                return self._titles.get(pattern, f"a string like {pattern}")
            case other:
                return f"as the schema's {other.name} says"


def sentence(text: str) -> str:
    """Return text as printable ASCII, other characters escaped, of at most 300 characters."""
    plain = "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[: _SENTENCE_MAX + 1])
    return plain if len(plain) <= _SENTENCE_MAX else plain[: _SENTENCE_MAX - 3] + "..."


def echo(value: object) -> str:
    """Return a short scalar as ASCII JSON, and only the kind of anything longer."""
    if isinstance(value, str) and len(value) > _ECHO_MAX:
        return f"a string of {len(value)} characters"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    return json.dumps(value)


def _pointer(path: Sequence[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _shallow(value: object, depth: int = 0) -> object:
    """Return an event without what its known fields cannot reach: errors copy it whole, and nesting has a limit."""
    if isinstance(value, dict):
        return {} if depth >= _DEEPEST_KNOWN else {key: _shallow(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [] if depth >= _DEEPEST_KNOWN else [_shallow(item, depth + 1) for item in value]
    return value


def _titles_of_patterns(schema: object) -> list[tuple[str, str]]:
    """Return (pattern, title) of every schema in a document that has both."""
    if not isinstance(schema, dict):
        return []
    found = [pair for part in schema.values() for pair in _titles_of_patterns(part)]
    if isinstance(schema.get("pattern"), str) and isinstance(schema.get("title"), str):
        title = schema["title"]
        found.append((schema["pattern"], title[0].lower() + title[1:]))
    return found
