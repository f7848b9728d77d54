"""A batch that stays damaged is no reason to go on; one that comes whole the next time is none to end."""

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException

from worker.stream.damage import Damage
from worker.stream.ending import DOES_NOT_FIT, Fatal

ONE, OTHER = TopicPartition("match-finished", 3), TopicPartition("match-finished", 4)
PATIENCE_S = 300
WHY = CorruptRecordException("Invalid CRC")


class Clock:
    now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def damage(clock):
    return Damage(PATIENCE_S, clock)


def test_a_batch_that_stays_damaged_ends_the_worker_and_says_where(damage, clock):
    damage.found(ONE, 17, WHY)
    clock.now_s += PATIENCE_S
    damage.found(ONE, 17, WHY)
    clock.now_s += 1
    with pytest.raises(Fatal, match=r"match-finished/3: the batch at offset 17 is damaged .*README") as ended:
        damage.found(ONE, 17, WHY)
    assert ended.value.code == DOES_NOT_FIT


def test_one_that_came_whole_has_all_the_time_again(damage, clock):
    damage.found(ONE, 17, WHY)
    damage.gone(OTHER)
    damage.gone(ONE)
    clock.now_s += PATIENCE_S + 1
    damage.found(ONE, 40, WHY)


def test_every_partition_has_its_own_time(damage, clock):
    damage.found(ONE, 17, WHY)
    clock.now_s += PATIENCE_S + 1
    damage.found(OTHER, 17, WHY)
