"""Kafka records delivered by Faust as whole batches: one Faust message holds up to `quota` records of one partition.

It leans on private names of faust-streaming 0.15.3 and aiokafka; tests/contract/test_transport.py fails if one moves.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any, cast

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage, Message
from faust.types.transports import SchedulingStrategyT
from yarl import URL

from worker.stream.ending import cancelled
from worker.stream.polling import QuotaThread, Taken

# Below the broker's rebalance timeout (60 s), after which the group goes on without this worker.
_REVOKE_PATIENCE_S = 45.0
_COMMIT_PATIENCE_S = 2.0
_COMMIT_ENDS_S = 0.5
# How long after `give_up_at` what is acknowledged may still be committed.
_LAST_COMMIT_S = 1.0


class BatchMessage(ConsumerMessage):
    """The Faust message of one batch: its value is the list of records, its offset the last one that it covers.

    It covers the offsets from `begin` on, among them those of markers of transactions and of what was aborted.
    """

    assignment: object = None
    begin = 0
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


class BatchConsumer(driver.Consumer):
    """Faust consumer that hands out batches, and commits only what was released for the assignment in force."""

    _thread: QuotaThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scheduler = cast(SchedulingStrategyT, _InTurn())
        #: The time (`monotonic`) after which batches in hand are waited for no more.
        self.give_up_at = math.inf
        #: Counts the assignments; None while partitions are being reassigned.
        self.assignment_number: int | None = None
        self._assignments = 0
        self._opened: int | None = None
        self._abandoned = False
        self._given_away = False
        self._dropped: set[TP] = set()

    @property
    def is_open(self) -> bool:
        """Whether the worker is in the group and records of its assignment (perhaps an empty one) may flow."""
        return self._opened is not None and self._opened == self.assignment_number

    def open(self, assignment_number: int) -> None:
        """Let records of this assignment flow, once Faust resumes."""
        self._opened = assignment_number

    def is_current(self, message: BatchMessage) -> bool:
        """Tell whether the batch belongs to the assignment in force; one of an earlier assignment comes again.

        An assignment ends when its batches in hand have been waited for, though aiokafka keeps it until the next one.
        """
        return not self._given_away and message.assignment is self._thread.assignment_in_force

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
        self._given_away = False
        await super().on_partitions_assigned(assigned, generation_id)

    async def wait_empty(self) -> None:
        """Wait until the batches in hand are acknowledged, 45 s and until `give_up_at` at most, and commit."""
        deadline = monotonic() + _REVOKE_PATIENCE_S
        # Looked at again and again, since a batch that was dropped is only ever missing, which wakes nobody; and the
        # worker may be told to end meanwhile.
        while self.in_hand() and not self._abandoned and monotonic() < min(deadline, self.give_up_at):
            if self.should_stop:
                break
            await asyncio.sleep(0.01)
        self._given_away = True  # from here on nothing may be queued behind what is about to be dropped
        await self._commit_acknowledged()

    async def commit(self, *args: Any, **kwargs: Any) -> bool:
        """Commit what is acknowledged."""
        return not self._abandoned and await super().commit(*args, **kwargs)

    def on_buffer_full(self, tp: TP) -> None:
        """Go on: the conductor waits at a full queue, whereas Faust's way is to sleep a second with nothing active."""

    async def verify_all_partitions_active(self) -> None:
        """Look for nothing: Faust's detector takes a quiet topic for a stuck one, and dies of a thread not yet up."""

    async def _commit_acknowledged(self) -> None:
        latest_s = self.give_up_at + _LAST_COMMIT_S - monotonic()
        committing = asyncio.create_task(self._commit_twice())
        await asyncio.wait({committing}, timeout=max(0.0, min(_COMMIT_PATIENCE_S, latest_s)))
        # Faust's commit takes a first cancellation for one of the commit that it waits for, and begins anew.
        await cancelled({committing}, _COMMIT_ENDS_S)

    async def _commit_twice(self) -> None:
        """Commit; twice, because a commit that finds another under way only waits for that one."""
        await self.commit()
        await self.commit()

    def _new_consumer_thread(self) -> QuotaThread:
        transport = cast(BatchTransport, self.transport)
        return QuotaThread(
            self,
            client_options=transport.client_options,
            quota=transport.quota,
            retry_s=transport.retry_s,
            loop=self.loop,
            beacon=self.beacon,
        )

    def _to_message(self, tp: TP, taken: Taken) -> BatchMessage:
        message = BatchMessage(
            tp.topic,
            tp.partition,
            taken.end - 1,
            taken.records[-1].timestamp / 1000 if taken.records else 0.0,
            0,
            [],
            None,
            cast(Any, taken.records),
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )
        message.assignment, message.begin = taken.assignment, taken.begin
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
