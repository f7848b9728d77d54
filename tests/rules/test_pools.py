import re

import pytest

from tests.rules.refused_pools import REFUSED
from worker.files import packaged
from worker.rules.blitzgammon import BlitzGammon
from worker.rules.errors import PoolsError
from worker.rules.gammon42 import FormulaStart, Gammon42
from worker.rules.nardeon import Nardeon
from worker.rules.pools import RULESETS, Pool, parse_pools
from worker.rules.season0 import KTier, Season0


def test_the_shipped_file_holds_the_four_pools_with_published_values() -> None:
    assert parse_pools(packaged("deploy/pools.toml").read_text("utf-8")) == {
        "gammon42": Pool("gammon42", Gammon42()),
        "blitzgammon": Pool("blitzgammon", BlitzGammon()),
        "nardeon": Pool("nardeon", Nardeon()),
        "season0": Pool("season0", Season0()),
    }


@pytest.mark.parametrize("ruleset", RULESETS)
def test_what_a_pool_leaves_out_has_the_published_default(ruleset: str) -> None:
    assert parse_pools(f'[pools.a]\nruleset = "{ruleset}"')["a"].rules == RULESETS[ruleset]()


def test_every_setting_can_be_set() -> None:
    pools = parse_pools("""
[pools.g-2]
ruleset = "gammon42"
k = 24.5
versions = [
  { version = "1.2.0", from = 2026-07-01T02:00:00+02:00 },
  { version = "1.10.0", from = "2027-01-01T00:00:00.5Z" },
]
[pools."7"]
ruleset = "season0"
divisor = 500
[[pools.7.k_tiers]]
from_games = 0
k = 40
[[pools.7.k_tiers]]
from_games = 30
k = 16.5
""")
    assert pools["g-2"].rules == Gammon42(
        k=24.5, versions=(FormulaStart("1.2.0", 1_782_864_000_000), FormulaStart("1.10.0", 1_798_761_600_500))
    )
    assert pools["7"].rules == Season0(divisor=500, k_tiers=(KTier(0, 40), KTier(30, 16.5)))


def test_instants_are_cut_to_milliseconds_and_not_rounded() -> None:
    text = '[pools.a]\nruleset = "gammon42"\nversions = [{{ version = "1.0.5", from = {} }}]'
    for written in ('"1970-01-01T00:00:00.0029999Z"', "1970-01-01T00:00:00.002999Z", '"1970-01-01T01:00:00.002+01:00"'):
        rules = parse_pools(text.format(written))["a"].rules
        assert isinstance(rules, Gammon42)
        assert rules.versions == (FormulaStart("1.0.5", 2),)


@pytest.mark.parametrize(("text", "line", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_used_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(PoolsError, match="^" + re.escape(f"line {line}: {problem}")) as refused:
        parse_pools(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["a", "7", "a-", "0-9", "a" * 32])
def test_names_of_pools(name: str) -> None:
    assert parse_pools(f"[pools.{name}]\nruleset = 'nardeon'")[name].name == name
