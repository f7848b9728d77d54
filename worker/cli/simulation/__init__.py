"""What four platforms would publish: seeded, deterministic, and telling what each record is."""

from worker.cli.simulation.feed import simulate
from worker.cli.simulation.presets import gammon42_matches, mixed
from worker.cli.simulation.scenario import DAY_MS, DEFAULT_POOLS, Kind, Published, Scenario, Shares

__all__ = [
    "DAY_MS",
    "DEFAULT_POOLS",
    "Kind",
    "Published",
    "Scenario",
    "Shares",
    "gammon42_matches",
    "mixed",
    "simulate",
]
