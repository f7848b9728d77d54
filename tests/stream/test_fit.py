"""Whether a pool's state fits a partition's log."""

import asyncio

import pytest

from worker.stream.ending import Fatal
from worker.stream.fit import Log, check_gap, misfit
from worker.tables.tables import Marker, Partition

PARTITION = Partition("eu-match-finished", 3)


def found(applied, begin, end, committed):
    marker = None if applied is None else Marker(PARTITION, applied)
    return misfit("gammon42", PARTITION, marker, Log(begin, end, committed))


@pytest.mark.parametrize(
    ("applied", "begin", "end", "committed"),
    [
        (50, 0, 100, 50),
        (60, 0, 100, 50),  # killed after settling, before committing
        (100, 100, 100, 90),
        (0, 0, 100, None),
        (None, 0, 100, None),  # a partition that was added
        (None, 0, 0, 0),
    ],
)
def test_what_fits_is_taken(applied, begin, end, committed):
    assert found(applied, begin, end, committed) is None


@pytest.mark.parametrize(
    ("applied", "begin", "end", "committed", "says"),
    [
        (49, 0, 100, 50, "so Redis has lost writes"),
        (None, 0, 100, 50, "so Redis has lost writes"),
        (101, 0, 100, 50, "the log ends at 100"),
        (50, 51, 100, 50, "the log begins at offset 51"),
        (None, 1, 100, None, "the log begins at offset 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_pool_partition_and_offsets(applied, begin, end, committed, says):
    sentence = found(applied, begin, end, committed)
    assert sentence is not None
    assert says in sentence
    assert sentence.startswith("pool gammon42, eu-match-finished/3: ")
    assert str(applied or 0) in sentence


class Begins:
    """Offsets of which only the log's beginning is asked."""

    def __init__(self, begin):
        self._begin = begin

    async def begins(self, partitions):
        return dict.fromkeys(partitions, self._begin)


@pytest.mark.parametrize(("log_begin", "code", "says"), [(70, 3, "the log now begins at 70"), (0, 1, "60 was read")])
def test_a_gap_in_what_is_read_ends_the_worker_before_anything_is_rated_on_it(log_begin, code, says):
    with pytest.raises(Fatal, match=says) as raised:
        asyncio.run(check_gap(PARTITION, 50, 60, Begins(log_begin)))
    assert raised.value.code == code
