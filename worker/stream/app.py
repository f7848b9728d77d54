"""The Faust app: one agent an input topic, each of which hands its batches to the lane."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import faust
import structlog
from aiokafka import ConsumerRecord, TopicPartition
from faust.app.base import BootStrategy
from faust.tables.recovery import RebalanceAgain
from faust.types import TP
from mode import ServiceT

from worker.settings import Settings
from worker.stream.ending import Exit, is_expected
from worker.stream.inputs import INPUTS
from worker.stream.kafka import kafka_client_options
from worker.stream.transport import BatchConsumer, BatchMessage, BatchTransport, HandThrough

_log = structlog.get_logger(__name__)

# A worker without partitions does not poll, and must not be thrown out of the group for it.
_NEVER_S = 10 * 365 * 86_400.0


class PartitionBatch(NamedTuple):
    """All that can be read of one partition from offset `begin` to before `end`, in order; `topic` has the prefix.

    There may be no record in it: markers of transactions and what was aborted take offsets too.
    `acknowledge` has all of it committed with the next commit. It is called once all is done, in the order in which
    the batches of the partition came; for a batch whose partition was given away since, it does nothing. `discard` is
    for a batch that was dropped: nothing of its partition is committed after it until the next assignment.
    `is_current` tells whether it belongs to the assignment in force, which may end while one waits.
    """

    topic: str
    partition: int
    records: Sequence[ConsumerRecord]
    begin: int
    end: int
    acknowledge: Callable[[], Awaitable[None]]
    discard: Callable[[], None]
    is_current: Callable[[], bool]


Take = Callable[[PartitionBatch], Awaitable[None]]
OnPartitions = Callable[[frozenset[TopicPartition]], Awaitable[None]]


class _Boot(BootStrategy):
    """Our own services start before Kafka is read, and stop after it."""

    enable_kafka_producer = False

    def server(self) -> Iterable[ServiceT]:
        app = cast(WorkerApp, self.app)
        return (
            *self.sensors(),
            *app.before_start,
            *self.kafka_consumer(),
            *self.agents(),
            *self.kafka_conductor(),
            *self.tables(),
        )


class WorkerApp(faust.App):
    """A Faust app that reads batches and writes nothing: no producer, no topic, no directory of its own."""

    BootStrategy = _Boot

    def __init__(self, settings: Settings, *, leave: Exit, before_start: Sequence[ServiceT] = ()) -> None:
        self.settings = settings
        self.leave = leave
        self.before_start = before_start
        super().__init__(settings.group, **_faust_settings(settings))

    @property
    def batches(self) -> BatchConsumer | None:
        """The consumer, once there is one."""
        return cast(BatchConsumer | None, self._consumer)

    @property
    def is_consuming(self) -> bool:
        """Whether the worker is in the group and what its assignment needs first is done; it may be a spare one."""
        return self.batches is not None and self.batches.is_open

    @property
    def batches_in_hand(self) -> int:
        """Batches taken by the agents that are neither acknowledged nor discarded."""
        return self.batches.in_hand() if self.batches else 0

    async def on_first_start(self) -> None:
        """Make no data directories."""

    def _new_transport(self) -> BatchTransport:
        return BatchTransport(
            self.conf.broker_consumer,
            self,
            client_options=kafka_client_options(self.settings),
            quota=self.settings.batch_max,
            retry_s=self.settings.retry_s,
        )


def create_app(
    settings: Settings,
    take: Take,
    *,
    leave: Exit | None = None,
    before_start: Sequence[ServiceT] = (),
    assigned: OnPartitions | None = None,
    revoked: OnPartitions | None = None,
    inputs: Sequence[str] = INPUTS,
) -> WorkerApp:
    """Return the app that hands every batch of the input topics to `take`, which holds it back by not returning.

    `before_start` are started before Kafka is read, and stopped after it. `assigned` is awaited with all partitions of
    a new assignment (none for a spare worker) before the first record of it is delivered; `revoked` with all of the
    old one, once the batches in hand are acknowledged and committed, or waited for long enough. Never both at a time.
    An exception from any of them, or from `take`, ends the process: with its code if it is Fatal, else with 1.
    """
    app = WorkerApp(settings, leave=leave or Exit(), before_start=before_start)
    for name in inputs:
        _add_agent(app, settings.topic(name), take)
    _add_hooks(app, assigned, revoked)
    return app


def _faust_settings(settings: Settings) -> dict[str, Any]:
    return {
        "env": {},
        "autodiscover": False,
        "broker": [f"kafka://{broker}" for broker in settings.kafka_bootstrap.split(",")],
        "broker_client_id": settings.group,
        "broker_commit_interval": 1.0,
        "broker_heartbeat_interval": 3.0,
        "broker_max_poll_interval": _NEVER_S,
        "broker_max_poll_records": settings.batch_max,
        "broker_rebalance_timeout": 60.0,
        "broker_request_timeout": 40.0,
        "broker_session_timeout": 30.0,
        "consumer_auto_offset_reset": "earliest",
        "consumer_max_fetch_size": 1024 * 1024,
        "consumer_metadata_max_age_ms": 5_000,
        "processing_guarantee": "at_least_once",
        # Messages are batches here.
        "stream_buffer_maxsize": 8,
        "stream_wait_empty": True,
        "table_standby_replicas": 0,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        # Our own pages are served by worker.stream.web: Faust's server says OK whatever is wrong.
        "web_enabled": False,
    }


def _add_agent(app: WorkerApp, topic: str, take: Take) -> None:
    async def feed(stream: Any) -> None:
        stream.enable_acks = False
        try:
            async for records in stream:
                event = stream.current_event
                consumer, message = cast(BatchConsumer, app.consumer), cast(BatchMessage, event.message)
                if not consumer.is_current(message):
                    consumer.discard(message)
                    continue
                await take(
                    PartitionBatch(
                        message.topic,
                        message.partition,
                        records,
                        message.begin,
                        message.offset + 1,
                        partial(_acknowledge, app, stream, event),
                        partial(consumer.discard, message),
                        partial(consumer.is_current, message),
                    )
                )
        except Exception as error:
            _log.exception("agent failed", topic=topic)
            app.leave.fail_with(error, f"Taking a batch of {topic}")

    app.agent(app.topic(topic, schema=HandThrough()), name=f"feed-{topic}", concurrency=1)(feed)


async def _acknowledge(app: WorkerApp, stream: Any, event: Any) -> None:
    if not app.leave.failed:
        event.message.released = True
        await stream.ack(event)


def _add_hooks(app: WorkerApp, assigned: OnPartitions | None, revoked: OnPartitions | None) -> None:
    one_at_a_time = asyncio.Lock()

    async def call(hook: OnPartitions | None, partitions: Iterable[TP], where: str) -> None:
        if hook is None:
            return
        async with one_at_a_time:
            try:
                await hook(frozenset(TopicPartition(tp.topic, tp.partition) for tp in partitions))
            except Exception as error:
                if not is_expected(error):
                    _log.exception("hook failed", hook=where)
                app.leave.fail_with(error, where)
                raise

    async def on_rebalance_complete(_app: Any, /, *_args: Any, signal: Any, **_kwargs: Any) -> None:  # noqa: ARG001
        # Faust awaits this before it lets records of the assignment flow, outside the group's protocol: heartbeats go
        # on. Another reassignment may begin meanwhile; then Faust comes back with that one.
        consumer = cast(BatchConsumer, app.consumer)
        number = consumer.assignment_number
        if number is None:
            raise RebalanceAgain
        await call(assigned, consumer.assignment(), "What a new assignment needs first")
        if consumer.assignment_number != number:
            raise RebalanceAgain
        consumer.open(number)

    async def on_partitions_revoked(_app: Any, /, *args: Any, signal: Any, **_kwargs: Any) -> None:  # noqa: ARG001
        await call(revoked, args[0], "Giving partitions away")

    app.on_rebalance_complete.connect(on_rebalance_complete)
    app.on_partitions_revoked.connect(on_partitions_revoked)
