"""Why an input became a dead letter: the reasons of the wire contract, and a sentence its publisher can act on."""

from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Values of the header `dlt-reason`, in the order in which they are looked for."""

    NOT_JSON = "not-json"
    SCHEMA = "schema"
    UNKNOWN_POOL = "unknown-pool"
    WRONG_RULESET = "wrong-ruleset"
    SELF_MATCH = "self-match"
    IN_THE_FUTURE = "in-the-future"
    TOO_LATE = "too-late"
    UNPUBLISHED_FORMULA = "unpublished-formula"
    CONFLICT = "conflict"
    PLAYERS_MISMATCH = "players-mismatch"
    ALREADY_LINKED = "already-linked"


class Refusal(NamedTuple):
    """One reason and one ASCII sentence, with the JSON pointer of the field where one is to blame."""

    reason: Reason
    message: str
