"""What our transport leans on in faust-streaming and aiokafka, against a broker: fails if a name or meaning moves."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import TopicPartition

from tests.conftest import SharedKafka
from tests.contract.support import (
    NotingLane,
    app_for,
    committed,
    create_inputs,
    end_offsets,
    numbers,
    producer,
    publish,
    raise_partitions,
    running,
    settings,
    until,
)
from worker.stream.app import PartitionBatch, create_app
from worker.stream.decode import Decoder
from worker.stream.inputs import INPUTS
from worker.stream.intake import Intake
from worker.tables.tables import Partition

PARTITIONS = 8


@pytest.fixture
def finished(topic_prefix: str) -> str:
    return f"{topic_prefix}match-finished"


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())


def test_every_record_comes_once_and_in_order_and_all_are_committed(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, PARTITIONS)
        chosen = settings(kafka.bootstrap, topic_prefix)
        async with producer(kafka.bootstrap) as client:
            for partition in range(PARTITIONS):
                await publish(client, finished, partition, numbers(7_500))
        lane = NotingLane()
        async with running(app_for(lane, chosen)):
            await lane.until_records(60_000)
        assert lane.values(finished) == {partition: numbers(7_500) for partition in range(PARTITIONS)}
        assert await committed(kafka.bootstrap, chosen.group, finished, PARTITIONS) == [7_500] * PARTITIONS

    run(test)


def test_a_batch_is_of_one_partition_and_no_larger_than_the_quota(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 2)
        async with producer(kafka.bootstrap) as client:
            for partition in range(2):
                await publish(client, finished, partition, numbers(1_000))
        lane = NotingLane()
        async with running(app_for(lane, settings(kafka.bootstrap, topic_prefix, batch_max=70))):
            await lane.until_records(2_000)
        assert 1 < max(len(batch.records) for batch in lane.batches) <= 70
        for batch in lane.batches:
            assert {(record.topic, record.partition) for record in batch.records} == {(batch.topic, batch.partition)}

    run(test)


def test_no_partition_waits_for_another_to_be_read_out(kafka: SharedKafka, topic_prefix: str, finished: str) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, PARTITIONS)
        async with producer(kafka.bootstrap) as client:
            for partition in range(PARTITIONS):
                await publish(client, finished, partition, numbers(2_000))
        lane = NotingLane()
        async with running(app_for(lane, settings(kafka.bootstrap, topic_prefix, batch_max=100))):
            await lane.until_records(2_000 * PARTITIONS)
        rounds = [[batch.partition for batch in lane.batches[at : at + PARTITIONS]] for at in range(0, 160, PARTITIONS)]
        assert all(sorted(turn) == list(range(PARTITIONS)) for turn in rounds[2:-2])

    run(test)


def test_what_is_not_acknowledged_is_not_committed_and_comes_again(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 2)
        chosen = settings(kafka.bootstrap, topic_prefix, batch_max=100)
        async with producer(kafka.bootstrap) as client:
            for partition in range(2):
                await publish(client, finished, partition, numbers(500))
        holding = NotingLane(hold=lambda batch: batch.records[0].offset >= 200)
        app = app_for(holding, chosen)
        async with running(app):
            await holding.until_records(1_000)
            app.consumer.give_up_at = time.monotonic()
        assert await committed(kafka.bootstrap, chosen.group, finished, 2) == [200, 200]
        lane = NotingLane()
        async with running(app_for(lane, chosen)):
            await lane.until_records(600)
        assert lane.values(finished) == {partition: numbers(300, start=200) for partition in range(2)}

    run(test)


def test_after_a_dropped_batch_nothing_of_its_partition_is_committed(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        chosen = settings(kafka.bootstrap, topic_prefix, batch_max=100)
        async with producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, numbers(300))
        lane = NotingLane(hold=lambda _batch: True)
        async with running(app_for(lane, chosen)):
            await lane.until_records(300)
            first, second, third = lane.held
            await first.acknowledge()
            second.discard()
            await third.acknowledge()
        assert await committed(kafka.bootstrap, chosen.group, finished, 1) == [100]

    run(test)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_of_publishers_is_read(kafka: SharedKafka, topic_prefix: str, finished: str, codec: str) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        async with producer(kafka.bootstrap, compression_type=codec) as client:
            await publish(client, finished, 0, numbers(2_000))
        lane = NotingLane()
        async with running(app_for(lane, settings(kafka.bootstrap, topic_prefix))):
            await lane.until_records(2_000)
        assert lane.values(finished) == {0: numbers(2_000)}

    run(test)


@pytest.mark.transactions
def test_an_aborted_transaction_is_never_seen_and_offsets_pass_over_its_marks(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        chosen = settings(kafka.bootstrap, topic_prefix)
        async with producer(kafka.bootstrap, transactional_id=f"{topic_prefix}publisher") as client:
            for number in range(30):
                await client.begin_transaction()
                await client.send(finished, b"%d" % number, partition=0)
                await (client.abort_transaction() if number % 3 else client.commit_transaction())
        lane = NotingLane()
        async with running(app_for(lane, chosen)):
            await lane.until_records(10)
            end = await end_offsets(kafka.bootstrap, finished, 1)
            await until(lambda: lane.batches[-1].end == end[0], "the marks behind the last record")
        assert lane.values(finished) == {0: [b"%d" % number for number in range(0, 30, 3)]}
        assert await committed(kafka.bootstrap, chosen.group, finished, 1) == end
        again = NotingLane()
        async with running(app_for(again, chosen)), producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, [b"after"])
            await again.until_records(1)
        assert again.values(finished) == {0: [b"after"]}
        assert await committed(kafka.bootstrap, chosen.group, finished, 1) == await end_offsets(
            kafka.bootstrap, finished, 1
        )

    run(test)


@pytest.mark.transactions
def test_batches_cover_every_offset_once_also_those_without_a_record(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        lane = NotingLane()
        async with (
            running(app_for(lane, settings(kafka.bootstrap, topic_prefix, batch_max=7))),
            producer(kafka.bootstrap, transactional_id=f"{topic_prefix}publisher") as client,
        ):
            await client.begin_transaction()
            await client.send_and_wait(finished, b"aborted", partition=0)
            await client.abort_transaction()
            await until(lambda: lane.batches != [], "what an aborted transaction leaves")
            assert (lane.batches[0].records, lane.batches[0].begin) == ([], 0)
            for size in (5, 20):
                async with client.transaction():
                    await publish(client, finished, 0, numbers(size))
            await lane.until_records(25)
            end = (await end_offsets(kafka.bootstrap, finished, 1))[0]
            await until(lambda: lane.batches[-1].end == end, "the end of the log")
        assert [batch.begin for batch in lane.batches] == [0, *(batch.end for batch in lane.batches[:-1])]
        for batch in lane.batches:
            assert all(batch.begin <= record.offset < batch.end for record in batch.records)

    run(test)


def test_partitions_added_while_running_are_read_from_their_first_record(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        lane = NotingLane()
        async with running(app_for(lane, settings(kafka.bootstrap, topic_prefix))):
            await raise_partitions(kafka.bootstrap, finished, 3)
            async with producer(kafka.bootstrap) as client:
                for partition in range(3):
                    await publish(client, finished, partition, numbers(50))
            await lane.until_records(150)
        assert lane.values(finished) == {partition: numbers(50) for partition in range(3)}
        assert TopicPartition(finished, 2) in lane.assignments[-1]

    run(test)


def test_stopping_waits_for_the_batches_in_hand_and_commits_them(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        chosen = settings(kafka.bootstrap, topic_prefix, batch_max=100)
        async with producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, numbers(250))
        lane = NotingLane(hold=lambda _batch: True)
        app = app_for(lane, chosen)
        async with running(app):
            await lane.until_records(250)
            stopping = asyncio.create_task(app.stop())
            await until(lambda: not app.consumer.flow_active, "the flow to stop")
            assert not stopping.done()
            for batch in lane.held:
                await batch.acknowledge()
            await stopping
        assert await committed(kafka.bootstrap, chosen.group, finished, 1) == [250]

    run(test)


@pytest.mark.real_kafka
def test_a_second_worker_takes_over_without_loss(kafka: SharedKafka, topic_prefix: str, finished: str) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, PARTITIONS)
        chosen = settings(kafka.bootstrap, topic_prefix, batch_max=50)
        first, second = NotingLane(), NotingLane()
        async with producer(kafka.bootstrap) as client, running(app_for(first, chosen)):
            await _publish_everywhere(client, finished, numbers(1_000))
            async with running(app_for(second, chosen)):
                await _publish_everywhere(client, finished, numbers(1_000, start=1_000))
                await until(lambda: _seen(first, second) == 2_000 * PARTITIONS, "all records")
                assert second.values(finished)
            await _publish_everywhere(client, finished, numbers(500, start=2_000))
            await until(lambda: _seen(first, second) == 2_500 * PARTITIONS, "all records")
        assert await committed(kafka.bootstrap, chosen.group, finished, PARTITIONS) == [2_500] * PARTITIONS
        for lane in (first, second):
            for partition, values in lane.values(finished).items():
                assert [int(value) for value in values] == sorted(int(value) for value in values), partition

    run(test)


def test_a_batch_acknowledged_after_its_partitions_moved_is_not_committed(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        chosen = settings(kafka.bootstrap, topic_prefix)
        async with producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, numbers(10))
        lane = NotingLane(hold=lambda _batch: len(lane.batches) == 1)
        app = app_for(lane, chosen)
        async with running(app):
            await lane.until_records(10)
            app.consumer.give_up_at = time.monotonic()
            lane.hold = lambda _batch: True
            before = len(lane.assignments)
            await raise_partitions(kafka.bootstrap, finished, 2)
            await until(lambda: len(lane.assignments) > before, "a new assignment")
            await lane.until_records(20)
            await lane.held[0].acknowledge()
            assert app.batches_in_hand == 1
        assert await committed(kafka.bootstrap, chosen.group, finished, 1) == [None]
        assert lane.values(finished)[0] == numbers(10) * 2

    run(test)


def test_what_waits_for_room_over_a_reassignment_is_not_queued_behind_what_was_dropped(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 1)
        chosen = settings(kafka.bootstrap, topic_prefix, batch_max=5)
        async with producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, numbers(40))
        intake = Intake({finished: Decoder("match-finished", {})}, most_waiting=5)
        assignments = []

        async def assigned(partitions: frozenset[TopicPartition]) -> None:
            assignments.append(partitions)

        async def revoked(partitions: frozenset[TopicPartition]) -> None:
            await intake.drop(Partition(*partition) for partition in partitions)

        app = create_app(chosen, intake.put, assigned=assigned, revoked=revoked)
        async with running(app):
            await until(lambda: app.batches_in_hand >= 2, "a batch that waits for room")
            app.consumer.give_up_at = time.monotonic()
            await raise_partitions(kafka.bootstrap, finished, 2)
            await until(lambda: len(assignments) == 2, "a new assignment")
            begins = []
            while len(begins) < 40:
                batch = await intake.next_batch(1)
                begins.append(batch.reached[Partition(finished, 0)].begin)
        assert begins == list(range(40))

    run(test)


def test_records_wait_for_what_a_new_assignment_needs_first(
    kafka: SharedKafka, topic_prefix: str, finished: str
) -> None:
    async def test() -> None:
        await create_inputs(kafka.bootstrap, topic_prefix, 2)
        async with producer(kafka.bootstrap) as client:
            await publish(client, finished, 0, numbers(10))
        order: list[str] = []
        ready = asyncio.Event()

        async def assigned(partitions: frozenset[TopicPartition]) -> None:
            order.append(f"assigned {len(partitions)}")
            await ready.wait()
            order.append("ready")

        async def take(batch: PartitionBatch) -> None:
            order.append("batch")
            await batch.acknowledge()

        app = create_app(settings(kafka.bootstrap, topic_prefix), take, assigned=assigned)
        start = asyncio.create_task(app.start())
        try:
            await until(lambda: bool(order), "an assignment")
            fetched_by = time.monotonic() + 1
            await until(lambda: time.monotonic() > fetched_by, "records to be fetched")
            assert order == [f"assigned {2 * len(INPUTS)}"]
            assert not app.is_consuming
            ready.set()
            await until(lambda: "batch" in order, "a batch")
        finally:
            await app.stop()
            await start
        assert order == [f"assigned {2 * len(INPUTS)}", "ready", "batch"]

    run(test)


async def _publish_everywhere(client: object, topic: str, values: list[bytes]) -> None:
    for partition in range(PARTITIONS):
        await publish(client, topic, partition, values)


def _seen(*lanes: NotingLane) -> int:
    """Return how many different records the lanes have been given."""
    return len({(record.topic, record.partition, record.offset) for lane in lanes for record in lane.records})
