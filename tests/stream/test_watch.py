"""Looking at what the worker needs: what a look that fails or hangs does, and what it does not."""

import asyncio

import pytest
from aiokafka.errors import KafkaConnectionError

from worker.stream import watch
from worker.stream.ending import BUDGET_SPENT, Fatal
from worker.stream.health import Health
from worker.stream.watch import keep_looking

WITHIN_S = 60


class Seen:
    """A watch that does at each look what its script says next, and the last for ever."""

    def __init__(self, step, *script):
        self.step = step
        self._script = list(script)
        self.looks = 0
        self.known = None

    async def look(self):
        self.looks += 1
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if answer == "hang":
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        self.known = answer

    def forget(self):
        self.known = None


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(watch, "LOOK_WITHIN_S", 0.05)


def until(condition, *watches, budget_s=WITHIN_S):
    """Look with all watches until the condition holds; return their health."""

    async def run():
        health = Health()
        looking = [asyncio.create_task(keep_looking(one, health, budget_s)) for one in watches]
        async with asyncio.timeout(WITHIN_S):
            while not condition(health):
                for task in looking:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.005)
        for task in looking:
            task.cancel()
        return health

    return asyncio.run(run())


def test_one_that_hangs_holds_up_no_other():
    redis, kafka = Seen("Redis", "hang"), Seen("Kafka", 1)
    health = until(lambda _health: kafka.looks > 20 and redis.looks > 2, redis, kafka)
    assert health.reasons == ["Redis fails: no answer within 0.05 s"]
    assert kafka.known == 1


def test_what_was_seen_is_forgotten_when_a_look_fails_and_known_again_when_one_works():
    error = KafkaConnectionError("gone")
    kafka = Seen("Kafka", 1, error, error, 2)
    failing = until(lambda health: health.reasons, kafka)
    assert "gone" in failing.reasons[0]
    assert kafka.known is None
    assert until(lambda _health: kafka.known == 2, kafka).reasons == []


def test_one_that_fails_for_as_long_as_the_budget_ends_the_worker():
    kafka = Seen("Kafka", KafkaConnectionError("gone"))
    with pytest.raises(Fatal, match=r"Kafka failed for 0\.1 s \(RATINGS_RETRY_S\)") as ended:
        until(lambda _health: False, kafka, budget_s=0.1)
    assert ended.value.code == BUDGET_SPENT
    assert kafka.looks > 1


def test_the_budget_begins_anew_with_each_failure():
    error = KafkaConnectionError("gone")
    kafka = Seen("Kafka", *([error, 1] * 30), 1)
    until(lambda _health: kafka.looks > 60, kafka, budget_s=0.1)


def test_a_bug_is_no_passing_failure():
    with pytest.raises(ValueError, match="a bug"):
        until(lambda _health: False, Seen("Kafka", ValueError("a bug")))
