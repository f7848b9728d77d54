"""How long an answer takes at a steady rate: from publishing a match to receiving each of its rating changes."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.bench.ground import PARTITIONS, BenchError
from tests.bench.process import running_worker
from tests.integration.support.site import Site
from worker.cli.simulation import Published

_WITHIN_S = 60

Seen = tuple[str, float]
"""A match and the instant at which something of it was seen, in seconds."""


class Latencies(NamedTuple):
    """Milliseconds, sorted: until each change was received, and until Kafka had confirmed each match itself."""

    answered: list[float]
    confirmed: list[float]


def measure(site: Site, records: Sequence[Published], rate: int, warm_up_s: float) -> Latencies:
    """Publish the matches at `rate` a second while a worker rates them; those of the warm-up are left out."""
    with running_worker(site) as worker, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        worker.until_ready()
        return runner.run(_measure(site, records, rate, warm_up_s))


async def _measure(site: Site, records: Sequence[Published], rate: int, warm_up_s: float) -> Latencies:
    topic = site.topic("rating-changed")
    sent_at: dict[str, float] = {}
    consumer = AIOKafkaConsumer(
        bootstrap_servers=site.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    producer = AIOKafkaProducer(bootstrap_servers=site.bootstrap, acks="all")
    await producer.start()
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        receiving = asyncio.create_task(_receive(consumer, 2 * len(records)))
        confirmed = await _publish(producer, site.topic("match-finished"), records, rate, sent_at)
        try:
            answered = await asyncio.wait_for(receiving, _WITHIN_S)
        except TimeoutError:
            raise BenchError(f"Not every match was answered within {_WITHIN_S} s of the last.") from None
    finally:
        await consumer.stop()
        await producer.stop()
    counted_from = min(sent_at.values()) + warm_up_s
    taken = {match_id: instant for match_id, instant in sent_at.items() if instant >= counted_from}
    return Latencies(_milliseconds(answered, taken), _milliseconds(confirmed, taken))


def _milliseconds(seen: Sequence[Seen], sent_at: Mapping[str, float]) -> list[float]:
    return sorted(1000 * (instant - sent_at[match_id]) for match_id, instant in seen if match_id in sent_at)


async def _publish(
    producer: AIOKafkaProducer, topic: str, records: Sequence[Published], rate: int, sent_at: dict[str, float]
) -> list[Seen]:
    """Send each record when it is due and return when each was confirmed; `sent_at` takes when each was sent."""
    prepared = [(orjson.loads(record.value or b"")["match_id"], record) for record in records]
    confirmed: list[Seen] = []
    sends = []
    began = time.perf_counter()
    for number, (match_id, record) in enumerate(prepared):
        if (ahead_s := began + number / rate - time.perf_counter()) > 0:
            await asyncio.sleep(ahead_s)
        sent_at[match_id] = time.perf_counter()
        headers, timestamp_ms = [*record.headers], record.timestamp_ms
        send = await producer.send(topic, record.value, record.key, timestamp_ms=timestamp_ms, headers=headers)
        send.add_done_callback(lambda _, match_id=match_id: confirmed.append((match_id, time.perf_counter())))
        sends.append(send)
    await asyncio.gather(*sends)
    return confirmed


async def _receive(consumer: AIOKafkaConsumer, total: int) -> list[Seen]:
    found: list[Seen] = []
    while len(found) < total:
        for records in (await consumer.getmany(timeout_ms=500)).values():
            received = time.perf_counter()
            found += [(orjson.loads(record.value)["cause"]["match_id"], received) for record in records]
    return found
