"""The thread that reads Kafka: a quota of records from every partition at each poll.

It leans on private names of faust-streaming 0.15.3 and aiokafka; tests/contract/test_transport.py fails if one moves.
"""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import ConsumerStoppedError, CorruptRecordException, KafkaError
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread
from faust.types import TP

from worker.stream.damage import Damage
from worker.stream.ending import cancelled
from worker.stream.health import Health
from worker.stream.leaving import leave_and_close
from worker.stream.retry import retried
from worker.stream.unreadable import stand_in_for_unreadable

_log = structlog.get_logger(__name__)

# The longest that a partition just read out waits for the broker to end a fetch begun without it, e.g. one of only
# quiet partitions: at 100 that was most of the latency of an event.
_FETCH_MAX_WAIT_MS = 10
_FETCH_MAX_BYTES = 16 * 1024 * 1024
_FETCH_AGAIN_S = 0.1
_GIVE_UP_S = 0.5
_LOOK_EVERY_S = 0.01


class Taken(NamedTuple):
    """Records taken out of aiokafka, in order, and the assignment (aiokafka's own object) they were taken under.

    They are all that can be read of the offsets from `begin` to before `end`, which may be nothing: markers of
    transactions, what was aborted and what was compacted away take offsets too.
    """

    records: list[ConsumerRecord]
    assignment: object
    begin: int
    end: int


class QuotaThread(AIOKafkaConsumerThread):
    """The thread that owns the aiokafka consumer; each poll takes a quota from every partition that has records."""

    def __init__(
        self, consumer: Any, *, client_options: Mapping[str, Any], quota: int, retry_s: float, **kwargs: Any
    ) -> None:
        self._client_options = client_options
        self._quota = quota
        self._retry_s = retry_s
        self._damage = Damage(retry_s)
        super().__init__(consumer, **kwargs)

    @property
    def assignment_in_force(self) -> object | None:
        """aiokafka's assignment object, a new one at each rebalance; None before the first."""
        subscription = self._consumer._subscription.subscription if self._consumer else None
        return subscription.assignment if subscription else None

    async def on_start(self) -> None:
        """Connect, for as long as the budget lasts and nothing stops the thread."""
        self.time_started = monotonic()
        connecting = asyncio.create_task(retried("Connecting to Kafka", self._connect, self._retry_s, Health()))
        stopped = asyncio.create_task(self._stopped.wait())
        await asyncio.wait({connecting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await cancelled({connecting, stopped}, _GIVE_UP_S)
        if connecting.done() and not connecting.cancelled():
            connecting.result()

    async def stop(self) -> None:
        """Stop the thread, also one that has only just begun, which Faust would let run."""
        while self._thread and self._thread.is_alive() and not self._started.is_set():  # noqa: ASYNC110 set by the thread
            await asyncio.sleep(_LOOK_EVERY_S)
        await super().stop()

    async def on_thread_stop(self) -> None:
        """Stop, within seconds whatever Kafka does, and leave the group."""
        queue = asyncio.create_task(super(AIOKafkaConsumerThread, self).on_thread_stop())
        await asyncio.wait({queue}, timeout=_GIVE_UP_S)
        await cancelled({queue}, _GIVE_UP_S)
        if self._consumer:
            await leave_and_close(self._consumer)

    async def _connect(self) -> None:
        consumer = self._create_consumer(loop=self.thread_loop)
        try:
            await consumer.start()
        except BaseException:
            await leave_and_close(consumer)
            raise
        self._consumer = consumer

    def close(self) -> None:
        """Do nothing: Faust's own closes the client from the wrong event loop; `on_thread_stop` closes it well."""

    def on_crash(self, msg: str, *fmt: Any, **_kwargs: Any) -> None:
        """Log a crash of the thread (Faust prints it)."""
        _log.exception("consumer thread crashed", error=msg.format(*fmt))

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:  # noqa: ARG002
        conf = self.app.conf
        stand_in_for_unreadable()
        return AIOKafkaConsumer(
            **self._client_options,
            client_id=conf.broker_client_id,
            group_id=conf.id,
            partition_assignment_strategy=[RoundRobinPartitionAssignor],
            enable_auto_commit=False,
            auto_offset_reset=conf.consumer_auto_offset_reset,
            isolation_level="read_committed",
            max_poll_interval_ms=int(conf.broker_max_poll_interval * 1000),
            fetch_max_bytes=_FETCH_MAX_BYTES,
            fetch_max_wait_ms=_FETCH_MAX_WAIT_MS,
            max_partition_fetch_bytes=conf.consumer_max_fetch_size,
            request_timeout_ms=int(conf.broker_request_timeout * 1000),
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
            metadata_max_age_ms=conf.consumer_metadata_max_age_ms,
        )

    async def _fetch_records(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: set[TP],
        timeout: float | None = None,  # noqa: ASYNC109
        max_records: int | None = None,  # noqa: ARG002
    ) -> Mapping[TP, Any]:
        fetcher = consumer._fetcher
        if consumer._closed or fetcher._closed:
            raise ConsumerStoppedError
        deadline = monotonic() + (timeout or 0)
        with fetcher._subscriptions.fetch_context():
            while True:
                taken = await self._take(fetcher, active_partitions)
                remaining = deadline - monotonic()
                if taken or remaining <= 0 or fetcher._closed:
                    return taken
                waiter = fetcher._create_fetch_waiter()
                await asyncio.wait([waiter], timeout=remaining)
                if waiter.done():
                    waiter.result()
                else:
                    waiter.cancel()

    async def _take(self, fetcher: Any, active: set[TP]) -> Mapping[TP, Taken]:
        """Take what is there, without waiting. Nothing while the flow is stopped: it would be thrown away."""
        if not self.consumer.flow_active or fetcher._subscriptions.reassignment_in_progress:
            return {}
        assignment = self.assignment_in_force
        taken: dict[TP, Taken] = {}
        ready = [tp for tp in fetcher._records if tp in active]
        # One poll is about one batch, with a share of every partition, so that heads of the same time meet in it.
        share = max(1, self._quota // max(1, len(ready)))
        for tp in ready:
            begin = _position(assignment, tp)
            try:
                found = await fetcher.fetched_records([tp], max_records=share)
            except CorruptRecordException as error:
                self._damage.found(tp, _position(assignment, tp), error)
                await asyncio.sleep(_FETCH_AGAIN_S)
                continue
            except KafkaError:
                # What was taken before must not be lost; the broker gives the same error again.
                if taken:
                    break
                raise
            end = _position(assignment, tp)
            if begin is not None and end is not None and end > begin:
                self._damage.gone(tp)
                taken[TP(tp.topic, tp.partition)] = Taken(found.get(tp, []), assignment, begin, end)
        return taken


def _position(assignment: Any, tp: Any) -> int | None:
    """Return the offset that is read next, None before it is known."""
    state = assignment.state_value(tp)
    return state.position if state is not None and state.has_valid_position else None
