"""What waits for its batch."""

import asyncio
import json
from types import SimpleNamespace

from tests.servers.process import PATIENCE_S
from tests.stream.decoding import AT_MS, GAME, MATCHES, POOLS
from worker.ratings.instants import format_instant
from worker.stream.app import PartitionBatch
from worker.stream.decode import Decoder
from worker.stream.intake import Intake
from worker.tables.tables import Partition

TOPIC = "match-finished"


class Delivered:
    """A delivered batch that notes what becomes of it; `begin` and `end` where they are not those of its records."""

    def __init__(self, partition, *records, begin=None, end=None):
        self.acknowledged = self.discarded = 0
        self.current = True
        self.batch = PartitionBatch(
            TOPIC,
            partition,
            list(records),
            records[0].offset if begin is None else begin,
            records[-1].offset + 1 if end is None else end,
            self.acknowledge,
            self.discard,
            lambda: self.current,
        )

    async def acknowledge(self):
        self.acknowledged += 1

    def discard(self):
        self.discarded += 1


def record(partition, offset, at_s, timestamp_s=None, value=None):
    """A record of a game that ended `at_s` seconds after AT."""
    event = {**GAME, "match_id": f"{partition}-{offset}", "finished_at": format_instant(AT_MS + 1000 * at_s)}
    stamped = AT_MS + 1000 * (at_s if timestamp_s is None else timestamp_s)
    body = json.dumps(event).encode() if value is None else value
    return SimpleNamespace(
        topic=TOPIC, partition=partition, offset=offset, timestamp=stamped, key=None, value=body, headers=()
    )


def intake(most_waiting=1000):
    return Intake({TOPIC: MATCHES}, most_waiting)


def offsets(batch):
    return [(event.delivery.source.partition, event.delivery.source.offset) for event in batch.events]


def test_partitions_are_merged_by_the_events_instants_and_stay_in_order_themselves():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, record(0, 0, 10), record(0, 1, 5), record(0, 2, 30)).batch)
        await waiting.put(Delivered(1, record(1, 7, 8), record(1, 8, 20)).batch)
        return await waiting.next_batch(10)

    assert offsets(asyncio.run(run())) == [(1, 7), (0, 0), (0, 1), (1, 8), (0, 2)]


def test_a_head_that_cannot_be_decoded_goes_by_its_records_timestamp():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, record(0, 0, 99, timestamp_s=15, value=b"?")).batch)
        await waiting.put(Delivered(1, record(1, 0, 10), record(1, 1, 20)).batch)
        return await waiting.next_batch(10)

    assert offsets(asyncio.run(run())) == [(1, 0), (0, 0), (1, 1)]


def test_an_instant_from_the_future_holds_nothing_back():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, record(0, 0, 90_000, timestamp_s=1), record(0, 1, 2)).batch)
        await waiting.put(Delivered(1, record(1, 0, 10)).batch)
        return await waiting.next_batch(10)

    assert offsets(asyncio.run(run())) == [(0, 0), (0, 1), (1, 0)]


def test_a_delivered_batch_is_acknowledged_only_with_its_last_record():
    async def run():
        waiting = intake()
        first, second = Delivered(0, *(record(0, n, n) for n in range(4))), Delivered(0, record(0, 4, 4))
        await waiting.put(first.batch)
        await waiting.put(second.batch)
        counts = []
        for _ in range(2):
            batch = await waiting.next_batch(3)
            for acknowledge in batch.acknowledgements:
                await acknowledge()
            counts.append((len(batch.events), first.acknowledged, second.acknowledged))
        return counts

    assert asyncio.run(run()) == [(3, 0, 0), (2, 1, 1)]


def test_a_batch_says_how_far_it_comes_in_each_partition():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, record(0, 5, 1, timestamp_s=9), record(0, 9, 2, timestamp_s=4)).batch)
        await waiting.put(Delivered(1, record(1, 3, 3)).batch)
        return await waiting.next_batch(10)

    batch = asyncio.run(run())
    assert batch.reached[Partition(TOPIC, 0)] == (5, 10, AT_MS + 9000)
    assert batch.reached[Partition(TOPIC, 1)] == (3, 4, AT_MS + 3000)


def test_an_agent_is_held_back_while_enough_waits():
    async def run():
        waiting = intake(most_waiting=2)
        await waiting.put(Delivered(0, record(0, 0, 0), record(0, 1, 1)).batch)
        held = asyncio.create_task(waiting.put(Delivered(0, record(0, 2, 2)).batch))
        for _ in range(5):
            await asyncio.sleep(0)
        was_held = not held.done()
        await waiting.next_batch(1)
        await asyncio.wait_for(held, PATIENCE_S)
        return was_held, offsets(await waiting.next_batch(10))

    assert asyncio.run(run()) == (True, [(0, 1), (0, 2)])


def test_what_waits_of_a_partition_that_was_given_away_is_discarded():
    async def run():
        waiting = intake()
        gone, kept = Delivered(0, record(0, 0, 0)), Delivered(1, record(1, 0, 1))
        await waiting.put(gone.batch)
        await waiting.put(kept.batch)
        await waiting.drop([Partition(TOPIC, 0)])
        return gone.discarded, gone.acknowledged, kept.discarded, offsets(await waiting.next_batch(10))

    assert asyncio.run(run()) == (1, 0, 0, [(1, 0)])


def test_what_waits_for_room_while_its_partition_is_given_away_is_discarded_and_not_queued_behind_the_hole():
    async def run():
        waiting = intake(most_waiting=1)
        dropped, held = Delivered(0, record(0, 0, 0)), Delivered(0, record(0, 1, 1))
        await waiting.put(dropped.batch)
        putting = asyncio.create_task(waiting.put(held.batch))
        await asyncio.sleep(0)
        dropped.current = held.current = False
        await waiting.drop([Partition(TOPIC, 0)])
        await asyncio.wait_for(putting, PATIENCE_S)
        again = Delivered(0, record(0, 0, 0))
        await waiting.put(again.batch)
        return held.discarded, held.acknowledged, offsets(await waiting.next_batch(10))

    assert asyncio.run(run()) == (1, 0, [(0, 0)])


def test_what_is_put_after_its_partition_was_given_away_is_discarded():
    async def run():
        waiting = intake()
        late = Delivered(0, record(0, 1, 1))
        late.current = False
        await waiting.put(late.batch)
        return late.discarded, await waiting.next_batch(10, wait=False)

    assert asyncio.run(run()) == (1, None)


def test_offsets_without_records_are_part_of_what_was_read():
    async def run():
        waiting = intake()
        first = Delivered(0, record(0, 5, 1), begin=3, end=8)
        marks = Delivered(0, begin=8, end=11)
        await waiting.put(first.batch)
        await waiting.put(marks.batch)
        batch = await waiting.next_batch(10)
        for acknowledge in batch.acknowledgements:
            await acknowledge()
        return batch.reached, first.acknowledged, marks.acknowledged

    reached, *acknowledged = asyncio.run(run())
    assert reached == {Partition(TOPIC, 0): (3, 11, AT_MS + 1000)}
    assert acknowledged == [1, 1]


def test_a_delivery_without_records_makes_a_batch_of_its_own():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, begin=0, end=2).batch)
        batch = await waiting.next_batch(10)
        return batch, await waiting.next_batch(10, wait=False)

    batch, following = asyncio.run(run())
    assert (list(batch.events), batch.reached) == ([], {Partition(TOPIC, 0): (0, 2, 0)})
    assert len(batch.acknowledgements) == 1
    assert following is None


def test_no_batch_reaches_over_a_gap():
    async def run():
        waiting = intake()
        await waiting.put(Delivered(0, record(0, 0, 0), record(0, 1, 1)).batch)
        behind = asyncio.create_task(waiting.put(Delivered(0, record(0, 7, 2)).batch))
        batches = [await waiting.next_batch(1) for _ in range(3)]
        await behind
        return [batch.reached[Partition(TOPIC, 0)][:2] for batch in batches]

    assert asyncio.run(run()) == [(0, 1), (1, 2), (7, 8)]


def test_without_waiting_there_may_be_nothing():
    assert asyncio.run(intake().next_batch(10, wait=False)) is None


def test_each_topic_has_its_own_decoder():
    async def run():
        waiting = Intake({TOPIC: MATCHES, "match-analyzed": Decoder("match-analyzed", POOLS)}, 10)
        one = record(0, 0, 0)
        one.topic = "match-analyzed"
        await waiting.put(Delivered(0, one).batch._replace(topic="match-analyzed"))
        return (await waiting.next_batch(10)).events[0].refusal

    assert "/players" in asyncio.run(run()).message or "analyzed_at" in asyncio.run(run()).message
