"""Trying again."""

import asyncio

import pytest
from aiokafka.errors import KafkaTimeoutError
from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)

from worker.stream import retry
from worker.stream.ending import BUDGET_SPENT, Fatal
from worker.stream.health import Health
from worker.stream.publish import PublishError
from worker.stream.retry import is_transient, retried


@pytest.mark.parametrize(
    "error",
    [
        RedisConnectionError("away"),
        BusyLoadingError("loading"),
        ClusterDownError("CLUSTERDOWN"),
        TryAgainError("TRYAGAIN"),
        ReadOnlyError("READONLY"),
        OutOfMemoryError("OOM"),
        ResponseError("MISCONF Errors writing to the AOF file"),
        ResponseError("NOREPLICAS Not enough good replicas to write."),
        KafkaTimeoutError(),
        PublishError("refused"),
        ConnectionResetError(),
        RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed"),
    ],
)
def test_what_passes_by_itself_is_tried_again(error):
    assert is_transient(error)


@pytest.mark.parametrize(
    "error", [ResponseError("ERR user_script:12: nil"), ValueError("a bug"), KeyError("row"), RuntimeError("a bug")]
)
def test_what_is_wrong_is_not(error):
    assert not is_transient(error)


def test_it_returns_what_the_call_returns_in_the_end_and_shows_the_trouble_meanwhile():
    health = Health()
    seen = []

    async def call():
        seen.append(list(health.reasons))
        if len(seen) < 3:
            raise RedisConnectionError("away")
        return "done"

    assert asyncio.run(retried("Settling", call, 60, health)) == "done"
    assert seen[0] == []
    assert "Settling fails" in seen[1][0]
    assert health.reasons == []


def test_past_its_budget_it_is_fatal_with_exit_code_4():
    async def call():
        raise RedisConnectionError("away")

    with pytest.raises(Fatal, match="RATINGS_RETRY_S") as ended:
        asyncio.run(retried("Settling", call, 0.2, Health()))
    assert ended.value.code == BUDGET_SPENT


def test_its_budget_is_used_up_to_the_end():
    tries = []

    async def spend(budget_s):
        began = asyncio.get_running_loop().time()

        async def call():
            tries.append(asyncio.get_running_loop().time() - began)
            raise RedisConnectionError("away")

        await retried("Settling", call, budget_s, Health())

    with pytest.raises(Fatal):
        asyncio.run(spend(0.5))
    assert tries[-2] < 0.5 <= tries[-1]


def test_a_call_that_does_not_answer_is_not_waited_for_past_the_budget(monkeypatch):
    monkeypatch.setattr(retry, "LEAST_TRY_S", 0.01)

    async def call():
        await asyncio.Event().wait()

    with pytest.raises(Fatal, match=r"Settling failed for 0.1 s \(RATINGS_RETRY_S\)") as ended:
        asyncio.run(asyncio.wait_for(retried("Settling", call, 0.1, Health()), 60))
    assert ended.value.code == BUDGET_SPENT


def test_what_is_waited_for_is_told_while_it_lasts():
    health = Health()
    seen = []

    async def call():
        seen.append(health.under_way)

    asyncio.run(retried("Settling", call, 60, health))
    assert seen == [["Settling"]]
    assert health.under_way == []


def test_any_other_error_is_the_callers_at_once():
    calls = []

    async def call():
        calls.append(1)
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(retried("Settling", call, 60, Health()))
    assert calls == [1]
