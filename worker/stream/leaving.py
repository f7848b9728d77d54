"""Closing aiokafka's consumer within seconds, wherever in the group's protocol it is, and out of its group.

It leans on private names of aiokafka; tests/contract/test_run.py fails if one moves.
"""

import asyncio
from time import monotonic
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer
from aiokafka.client import CoordinationType
from aiokafka.errors import KafkaError, UnknownMemberIdError, for_code
from aiokafka.protocol.group import LeaveGroupRequest

from worker.stream.ending import cancelled

_log = structlog.get_logger(__name__)

_ID_WITHIN_S = 0.5
_LOOK_EVERY_S = 0.01
_ANSWER_WITHIN_S = 0.5
_CLOSE_WITHIN_S = 0.5


async def leave_and_close(consumer: AIOKafkaConsumer) -> None:
    """Leave the group and close the consumer, within two seconds also where Kafka does not answer.

    aiokafka's own way is to wait for what the coordinator is about: while the group waits for a member that died, Kafka
    answers a JoinGroup only once it has given that one up.
    """
    consumer._closed = True
    if coordinator := consumer._coordinator:
        await _end_coordination(coordinator)
        await _leave(coordinator)
    closing = asyncio.create_task(_close(consumer))
    await asyncio.wait({closing}, timeout=_CLOSE_WITHIN_S)
    await cancelled({closing}, _CLOSE_WITHIN_S)


async def _end_coordination(coordinator: Any) -> None:
    coordination = coordinator._coordination_task
    if not coordinator._closing.done():
        coordinator._closing.set_result(None)
    # Kafka answers the first JoinGroup at once, with the id by which the group waits for us from then on.
    deadline = monotonic() + _ID_WITHIN_S
    while not coordinator.member_id and monotonic() < deadline:
        ended, _ = await asyncio.wait({coordination}, timeout=_LOOK_EVERY_S)
        if ended:
            break
    beside = (coordination, coordinator._heartbeat_task, coordinator._commit_refresh_task)
    await cancelled((task for task in beside if task is not None), _ANSWER_WITHIN_S)


async def _leave(coordinator: Any) -> None:
    if not coordinator.member_id:
        return
    client, group = coordinator._client, coordinator.group_id
    request = LeaveGroupRequest(group, coordinator.member_id)
    try:
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            node = coordinator.coordinator_id
            if node is None:
                node = await client.coordinator_lookup(CoordinationType.GROUP, group)
            # Not on the coordinator's own connection, where it would come after a JoinGroup that is not answered.
            answer = await client.send(node, request)
        error = for_code(answer.error_code)
        if error.errno and error is not UnknownMemberIdError:
            raise error
    except (KafkaError, OSError) as error:
        _log.warning("the group was not left: Kafka gives this worker up after its session timeout", error=repr(error))


async def _close(consumer: AIOKafkaConsumer) -> None:
    if consumer._fetcher:
        await consumer._fetcher.close()
    await consumer._client.close()
