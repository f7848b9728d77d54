"""Reading topics from the brokers, and making them as declared."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    InvalidReplicationFactorError,
    KafkaError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from worker.settings import Settings
from worker.stream.kafka import kafka_client_options, reach
from worker.stream.topics import ActualTopic, DeclaredTopic, Difference, plan

_SET_ON_TOPIC = 1
_SETTLED_WITHIN_S = 30.0


class TopicRefusedError(Exception):
    """The brokers refuse a change of a topic; the sentence names it and says why."""


@asynccontextmanager
async def topic_admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Give an admin client that is connected to the brokers of the settings; raises KafkaAwayError."""
    await reach(settings)
    admin = AIOKafkaAdminClient(**kafka_client_options(settings))
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


async def read_topics(admin: AIOKafkaAdminClient, names: Iterable[str]) -> dict[str, ActualTopic]:
    """Return those of the named topics that exist."""
    asked = await admin.describe_topics(sorted(set(names)))
    described = {topic["topic"]: topic for topic in asked if topic["error_code"] == 0}
    configs = await _read_configs(admin, sorted(described))
    return {
        name: ActualTopic(
            partitions=len(topic["partitions"]),
            replication=min((len(partition["replicas"]) for partition in topic["partitions"]), default=0),
            config=dict(configs[name][0]),
            overrides=dict(configs[name][1]),
        )
        for name, topic in described.items()
        if name in configs
    }


async def apply(
    admin: AIOKafkaAdminClient, declared: Sequence[DeclaredTopic], *, outputs: bool = False
) -> tuple[list[Difference], list[Difference]]:
    """Set right what may be set right; return what was, and what remains.

    Returns only once the brokers show every change, and raises TopicRefusedError where they refuse one.
    """
    names = [topic.name for topic in declared]
    before = await read_topics(admin, names)
    applied = [difference for difference in plan(declared, before, outputs=outputs) if difference.applicable]
    await _create(admin, declared, applied)
    await _grow(admin, applied)
    await _configure(admin, before, applied)
    deadline = asyncio.get_running_loop().time() + _SETTLED_WITHIN_S
    while True:
        remaining = plan(declared, await read_topics(admin, names), outputs=outputs)
        if not any(difference.applicable for difference in remaining):
            return applied, remaining
        if asyncio.get_running_loop().time() > deadline:
            raise TopicRefusedError(f"{remaining[0].sentence} The brokers took the change, but do not show it.")
        await asyncio.sleep(0.1)


async def _create(admin: AIOKafkaAdminClient, declared: Sequence[DeclaredTopic], applied: Sequence[Difference]) -> None:
    missing = {difference.topic for difference in applied if difference.kind == "missing"}
    new = [
        NewTopic(
            topic.name,
            topic.initial_partitions,
            topic.replication,
            topic_configs=topic.config_for(topic.replication),
        )
        for topic in declared
        if topic.name in missing
    ]
    if not new:
        return
    response = await admin.create_topics(new)
    for name, code, *message in response.topic_errors:
        if code not in (0, TopicAlreadyExistsError.errno):
            hint = " (--replication asks for another number)" if code == InvalidReplicationFactorError.errno else ""
            raise TopicRefusedError(f"{name} cannot be created: {_reason(code, message)}{hint}.")


async def _grow(admin: AIOKafkaAdminClient, applied: Sequence[Difference]) -> None:
    for difference in applied:
        if difference.kind == "partitions":
            try:
                await admin.create_partitions({difference.topic: NewPartitions(int(difference.wanted))})
            except KafkaError as error:
                if error.retriable:
                    raise
                raise TopicRefusedError(f"{difference.topic} cannot get more partitions: {error}.") from error


async def _configure(
    admin: AIOKafkaAdminClient, before: Mapping[str, ActualTopic], applied: Sequence[Difference]
) -> None:
    changes: dict[str, dict[str, str]] = {}
    for difference in applied:
        if difference.setting:
            changes.setdefault(difference.topic, {})[difference.setting] = difference.wanted
    for name, change in changes.items():
        # The request replaces everything that is set on the topic, so what we do not change goes with it.
        configs = {**before[name].overrides, **change}
        for response in await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs)]):
            for code, message, *_ in response.resources:
                if code:
                    raise TopicRefusedError(f"{name} cannot be configured: {_reason(code, [message])}.")


async def _read_configs(
    admin: AIOKafkaAdminClient, names: Sequence[str]
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    if not names:
        return {}
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    for response in await admin.describe_configs(resources):
        for code, message, _, name, entries in response.resources:
            if code == UnknownTopicOrPartitionError.errno:
                continue
            if code:
                raise TopicRefusedError(f"{name} cannot be described: {_reason(code, [message])}.")
            valued = [entry for entry in entries if entry[1] is not None]
            found[name] = (
                {entry[0]: entry[1] for entry in valued},
                {entry[0]: entry[1] for entry in valued if entry[3] == _SET_ON_TOPIC},
            )
    return found


def _reason(code: int, message: Sequence[Any]) -> str:
    text = next((str(part) for part in message if part), "")
    return text.rstrip(".") or for_code(code).__name__
