"""What players are told about a match that does not count."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cli.standing import Standing, told
from tests.cli.table import Table
from tests.ratings.ladder import finished
from worker.cli.explain.exclusions import RULES, WHY
from worker.files import packaged
from worker.rules.pools import RULESETS


@pytest.mark.parametrize(
    ("ruleset", "changed", "why", "met"),
    [
        (
            "gammon42",
            {"mode": "tournament"},
            "it was a tournament game, and only ranked games count",
            "under 'tournament': the platform reported it with the mode 'tournament'.",
        ),
        (
            "gammon42",
            {"mode": "casual", "kinds": ("bot", "account")},
            "it was a boosted game, and only ranked games count",
            "under 'boosted': the platform reported it with the mode 'casual'.",
        ),
        (
            "blitzgammon",
            {"mode": "hosted"},
            "its host had not asked for it to be rated",
            "with the mode 'hosted', without asking for it to be rated (elo_enabled).",
        ),
        (
            "blitzgammon",
            {"kinds": ("account", "bot")},
            "the computer or a bot played in it",
            "under 'computer': the platform reported bob as a bot.",
        ),
        (
            "nardeon",
            {"same_network": True, "kinds": ("guest", "anonymous")},
            "one of the players has no account",
            "under 'guest': the platform reported ann as a guest and bob as somebody without an account.",
        ),
        (
            "nardeon",
            {"same_network": True},
            "both players came from the same address",
            "the platform reported that both players share an address or a network (same_network).",
        ),
        (
            "season0",
            {"kinds": ("guest", "bot"), "same_network": True},
            "a bot played in it",
            "under 'bot': the platform reported bob as a bot.",
        ),
        (
            "season0",
            {"same_network": True},
            "both players appear to share a network",
            "under 'same-network': the platform reported that both players share an address or a network",
        ),
    ],
)
def test_an_excluded_match_names_its_rule(ruleset: str, changed: Mapping[str, Any], why: str, met: str) -> None:
    table = Table(ruleset)
    table.match(**changed)
    _, verdict, rule, nothing = table.sentences()
    assert verdict == f"It does not count, because {why}."
    assert rule.startswith(RULES[ruleset])
    assert met in rule
    assert nothing == "Nothing changed for either player: no rating, no number of games, no experience."


def test_there_are_words_for_every_reason_of_the_wire_contract() -> None:
    schema = json.loads(packaged("schemas/match-excluded.schema.json").read_text())
    assert set(schema["properties"]["reason"]["enum"]) == set(WHY)


def test_there_are_words_for_every_ruleset() -> None:
    assert set(RULES) == set(RULESETS)


def test_the_command_gives_the_reason_of_an_excluded_match(standing: Standing) -> None:
    standing.rate(finished("nardeon", "m-1", "ann", "bob", mode="club"))
    found = json.loads(told(standing.run("explain", "nardeon", "m-1", "--json")))
    assert found["excluded_reason"] == "club-table"
    assert "the mode 'club'" in found["says"][0]
    assert "players" not in found
