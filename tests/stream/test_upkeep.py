"""How far a pool's horizon may move."""

from worker.ratings.instants import DAY_MS
from worker.stream.upkeep import horizon_ms
from worker.tables.tables import Marker, Partition

NOW = 100 * DAY_MS
A, B, C = (Partition("match-finished", number) for number in range(3))


def markers(**reached):
    """Markers by partition: (applied, newest timestamp in days)."""
    names = {"a": A, "b": B, "c": C}
    return {names[key]: Marker(names[key], applied, int(days * DAY_MS)) for key, (applied, days) in reached.items()}


def horizon(found, ends, now_ms=NOW):
    return horizon_ms(found, ends, 30, now_ms) / DAY_MS


def test_it_goes_by_the_partition_that_is_furthest_behind():
    found = markers(a=(5, 80), b=(5, 60), c=(9, 90))
    assert horizon(found, {A: 10, B: 10, C: 10}) == 30


def test_a_partition_without_lag_goes_with_the_others():
    found = markers(a=(10, 40), b=(5, 60), c=(9, 90))
    assert horizon(found, {A: 10, B: 10, C: 10}) == 30


def test_without_any_lag_it_goes_by_the_newest():
    found = markers(a=(10, 40), b=(0, 0), c=(10, 90))
    assert horizon(found, {A: 10, B: 0, C: 10}) == 60


def test_a_partition_of_which_nothing_was_applied_yet_holds_it_back():
    assert horizon(markers(a=(10, 80)), {A: 10, B: 3}) == 0
    assert horizon(markers(a=(10, 80), b=(0, 0)), {A: 10, B: 3}) == 0


def test_a_publishers_clock_that_is_ahead_does_not_move_it_past_ours():
    assert horizon(markers(a=(10, 36_500)), {A: 10}) == 70


def test_it_is_never_negative():
    assert horizon(markers(a=(10, 3)), {A: 10}) == 0
    assert horizon({}, {}) == 0
