"""Kafka records delivered by Faust as whole batches: one Faust message holds up to `quota` records of one partition.

It leans on private names of faust-streaming 0.15.3 and aiokafka; tests/contract/test_transport.py fails if one moves.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any, NamedTuple, cast

import faust
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import ConsumerStoppedError, KafkaConnectionError, KafkaError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage, Message
from faust.types.transports import SchedulingStrategyT
from yarl import URL

from worker.stream.ending import BUDGET_SPENT, Fatal

_log = logging.getLogger(__name__)

# The longest that a partition just read out waits for the broker to end a fetch begun without it.
_FETCH_MAX_WAIT_MS = 100
_FETCH_MAX_BYTES = 16 * 1024 * 1024
# Below the broker's rebalance timeout (60 s), after which the group goes on without this worker.
_REVOKE_PATIENCE_S = 45.0
_COMMIT_PATIENCE_S = 2.0
_CONNECT_AGAIN_S = 1.0


class Taken(NamedTuple):
    """Records taken out of aiokafka, in order, and the assignment (aiokafka's own object) they were taken under."""

    records: list[ConsumerRecord]
    assignment: object


class BatchMessage(ConsumerMessage):
    """The Faust message of one batch: its value is the list of records, its offset that of the last one."""

    assignment: object = None
    released = False


class HandThrough(faust.Schema[Any, Any]):
    """Topic schema that decodes nothing: the agent gets the list of records itself, so nothing can fail before it."""

    def loads_key(self, app: Any, message: Any, *, loads: Any = None, serializer: Any = None) -> None:
        """Return no key."""

    def loads_value(self, app: Any, message: Any, *, loads: Any = None, serializer: Any = None) -> Any:  # noqa: ARG002
        """Return the records."""
        return message.value


class _InTurn:
    """Scheduler: the partitions of a poll in turn, each with all that the poll took of it."""

    def iterate(self, records: Mapping[TP, Taken]) -> Iterator[tuple[TP, Taken]]:
        return iter(records.items())


class QuotaThread(driver.AIOKafkaConsumerThread):
    """The thread that owns the aiokafka consumer; each poll takes a quota from every partition that has records."""

    @property
    def assignment_in_force(self) -> object | None:
        """aiokafka's assignment object, a new one at each rebalance; None before the first."""
        subscription = self._consumer._subscription.subscription if self._consumer else None
        return subscription.assignment if subscription else None

    async def on_start(self) -> None:
        """Connect, for as long as the budget lasts."""
        budget_s = cast(BatchTransport, self.transport).retry_s
        deadline = monotonic() + budget_s
        while True:
            consumer = self._create_consumer(loop=self.thread_loop)
            try:
                await consumer.start()
            except KafkaConnectionError as error:
                await consumer.stop()
                if monotonic() > deadline:
                    raise Fatal(BUDGET_SPENT, f"Kafka did not answer for {budget_s:g} s: {error}") from error
                _log.warning("Kafka does not answer; trying again: %s", error)
                await self.sleep(_CONNECT_AGAIN_S)
            else:
                self.time_started = monotonic()
                self._consumer = consumer
            if self._consumer or self.should_stop:
                return

    def close(self) -> None:
        """Do nothing: Faust's own closes the client from the wrong event loop; `on_thread_stop` closes it well."""

    def on_crash(self, msg: str, *fmt: Any, **_kwargs: Any) -> None:
        """Log a crash of the thread (Faust prints it)."""
        _log.error(msg.format(*fmt), exc_info=True)

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:
        conf = self.app.conf
        return AIOKafkaConsumer(
            **transport.client_options,
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
        quota = cast(BatchTransport, self.transport).quota
        assignment = self.assignment_in_force
        taken: dict[TP, Taken] = {}
        for tp in [tp for tp in fetcher._records if tp in active]:
            try:
                found = await fetcher.fetched_records([tp], max_records=quota)
            except KafkaError:
                # What was taken before must not be lost; the broker gives the same error again.
                if taken:
                    break
                raise
            if tp in found:
                taken[TP(tp.topic, tp.partition)] = Taken(found[tp], assignment)
        return taken


class BatchConsumer(driver.Consumer):
    """Faust consumer that hands out batches, and commits only what was released for the assignment in force."""

    _thread: QuotaThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scheduler = cast(SchedulingStrategyT, _InTurn())
        #: How long, in seconds, batches in hand are waited for when their partitions go away.
        self.patience_s = _REVOKE_PATIENCE_S
        #: Counts the assignments; None while partitions are being reassigned.
        self.assignment_number: int | None = None
        self._assignments = 0
        self._opened: int | None = None
        self._abandoned = False
        self._dropped: set[TP] = set()

    @property
    def is_open(self) -> bool:
        """Whether the worker is in the group and records of its assignment (perhaps an empty one) may flow."""
        return self._opened is not None and self._opened == self.assignment_number

    def open(self, assignment_number: int) -> None:
        """Let records of this assignment flow, once Faust resumes."""
        self._opened = assignment_number

    def is_current(self, message: BatchMessage) -> bool:
        """Tell whether the batch belongs to the assignment in force; one of an earlier assignment comes again."""
        return message.assignment is self._thread.assignment_in_force

    def in_hand(self) -> int:
        """Return the number of batches that agents have taken and that are neither acknowledged nor discarded."""
        return sum(not message.acked for message in self._unacked_messages)

    def discard(self, message: BatchMessage) -> None:
        """Forget a batch that was dropped, and commit nothing after it in its partition until the next assignment."""
        if self.is_current(message):
            self._dropped.add(message.tp)
        self._unacked_messages.discard(message)

    def abandon(self) -> None:
        """From now on acknowledge, commit and wait for nothing."""
        self._abandoned = True

    def ack(self, message: Message) -> bool:
        """Count the batch as done, if it was released and its partition was not given away since."""
        if self._abandoned:
            return False
        batch = cast(BatchMessage, message)
        if batch.released and self.is_current(batch) and batch.tp not in self._dropped:
            return super().ack(batch)
        self._unacked_messages.discard(message)
        return False

    def resume_flow(self) -> None:
        """Let records flow, unless a later reassignment has begun since Faust decided so."""
        if self.is_open:
            super().resume_flow()

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Commit what is acknowledged (Faust forgets it here), then wait for the batches in hand."""
        self.assignment_number = None
        self.stop_flow()
        await self._commit_acknowledged()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin anew: whatever is left of the assignment before is neither waited for nor committed any more."""
        self.stop_flow()
        self._assignments += 1
        self.assignment_number = self._assignments
        for leftover in (self._acked, self._acked_index, self._dropped, self._unacked_messages):
            leftover.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    async def wait_empty(self) -> None:
        """Wait until the batches in hand are acknowledged, `patience_s` at most, and commit."""
        deadline = monotonic() + self.patience_s
        # Looked at again and again, since a batch that was dropped is only ever missing, which wakes nobody.
        while self.in_hand() and not self._abandoned and not self.should_stop and monotonic() < deadline:
            await asyncio.sleep(0.01)
        await self._commit_acknowledged()

    async def commit(self, *args: Any, **kwargs: Any) -> bool:
        """Commit what is acknowledged."""
        return not self._abandoned and await super().commit(*args, **kwargs)

    def on_buffer_full(self, tp: TP) -> None:
        """Go on: the conductor waits at a full queue, whereas Faust's way is to sleep a second with nothing active."""

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Look for nothing: Faust's detector takes a quiet topic for a stuck one."""

    async def _commit_acknowledged(self) -> None:
        # Twice, because a commit that finds another under way only waits for that one.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_COMMIT_PATIENCE_S):
                await self.commit()
                await self.commit()

    def _new_consumer_thread(self) -> QuotaThread:
        return QuotaThread(self, loop=self.loop, beacon=self.beacon)

    def _to_message(self, tp: TP, taken: Taken) -> BatchMessage:
        last = taken.records[-1]
        message = BatchMessage(
            last.topic,
            last.partition,
            last.offset,
            last.timestamp / 1000,
            last.timestamp_type,
            [],
            None,
            cast(Any, taken.records),
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )
        message.assignment = taken.assignment
        return message

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """A batch covers its offsets; so do the control records of transactions."""

    def _new_offset(self, tp: TP) -> int | None:
        acked = self._acked[tp]
        if not acked:
            return None
        # Batches of a partition are acknowledged in order, so everything below is done too.
        highest = max(acked)
        acked[:] = [highest]
        self._acked_index[tp] = {highest}
        return highest + 1


class BatchTransport(driver.Transport):
    """Transport whose consumers deliver batches of at most `quota` records.

    `client_options` reach the brokers; `retry_s` is how long, in seconds, they are tried for at start.
    """

    Consumer = BatchConsumer

    def __init__(
        self, url: list[URL], app: Any, *, client_options: Mapping[str, Any], quota: int, retry_s: float
    ) -> None:
        super().__init__(url, app)
        self.client_options = client_options
        self.quota = quota
        self.retry_s = retry_s
