"""What the tests publish: simulated weeks that end now, so that no broker and no horizon minds their dates."""

from worker.cli.simulation import DAY_MS, Published, Scenario, Shares, simulate
from worker.cli.simulation.sending import now_ms

DAYS = 5
"""With late matches of up to 20 days all is younger than the retention of 30 days, so that nothing is pruned."""


def records(matches: int, *, seed: int = 1, players: int = 300, **shares: float) -> list[Published]:
    """Return what four platforms publish around that many matches."""
    start_ms = now_ms() - DAYS * DAY_MS
    mixed = {"late": 0.02, "duplicate": 0.03, "conflict": 0.01, "invalid": 0.02, "analyses": 0.5}
    mixed |= {"prizes": 0, "links": 0, **shares}
    return list(
        simulate(Scenario(seed, matches, start_ms, players=players, duration_ms=DAYS * DAY_MS, shares=Shares(**mixed)))
    )
