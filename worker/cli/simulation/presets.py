"""Scenarios that benchmarks and tests share."""

from dataclasses import replace

from worker.cli.simulation.scenario import DAY_MS, Scenario, Shares

SPANS_CUT_OVER_MS = 1_790_208_000_000
"""2026-09-24T00:00:00Z, a week before gammon42's cut-over to 1.3.1 in the default pools."""
AFTER_CUT_OVER_MS = 1_790_899_200_000
"""2026-10-02T00:00:00Z, when gammon42's K already goes by volume in the default pools."""

_NOTHING_WRONG = Shares(late=0, duplicate=0, conflict=0, invalid=0, analyses=0, prizes=0, links=0)
_ONLY_ANALYSES = replace(_NOTHING_WRONG, analyses=0.1)


def gammon42_matches(
    n: int, players: int = 1000, seed: int = 1, *, start_ms: int = AFTER_CUT_OVER_MS, days: int = 14
) -> Scenario:
    """Return `n` plain rated matches of one gammon42 pool, nothing wrong with any; the busiest play K = 16."""
    return Scenario(
        seed=seed,
        matches=n,
        start_ms=start_ms,
        pools={"gammon42": "gammon42"},
        players=players,
        duration_ms=days * DAY_MS,
        shares=_NOTHING_WRONG,
        plain=True,
    )


def mixed(
    n: int,
    players: int = 1000,
    seed: int = 1,
    *,
    start_ms: int = SPANS_CUT_OVER_MS,
    days: int = 14,
    shares: Shares = _ONLY_ANALYSES,
) -> Scenario:
    """Return `n` matches over the four default pools, a tenth of the blitz matches analysed, nothing else unusual."""
    return Scenario(seed=seed, matches=n, start_ms=start_ms, players=players, duration_ms=days * DAY_MS, shares=shares)
