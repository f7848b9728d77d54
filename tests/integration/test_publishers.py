"""What publishers may do: bad records, every codec, transactions."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from tests.integration.support.events import match
from tests.integration.support.promises import audit, read_answers
from tests.integration.support.publishing import Sent, by_key, publish, publish_with
from tests.integration.support.reading import wait_answered
from tests.integration.support.scenarios import records
from tests.integration.support.site import Site
from worker.cli.simulation import Kind, Published
from worker.cli.simulation.sending import now_ms

CODECS = (None, "gzip", "snappy", "lz4", "zstd")


def test_one_percent_of_poison_stops_no_good_event_and_comes_back_byte_for_byte(site: Site) -> None:
    site.apply_topics(8)
    worker = site.start_worker()
    odd = [
        Published(
            "match-finished",
            b"\xff\x00",
            value,
            now_ms(),
            (("trace", b"\xfe\x00\x01"), ("trace", b"again"), ("empty", b"")),
            Kind.INVALID,
            reason,
        )
        for value, reason in ((b"\x00\xff", "not-json"), (None, "not-json"), (b"[" * 100_000, "not-json"))
    ]
    sent = asyncio.run(publish(site, [*odd, *records(4_000, seed=7, invalid=0.01), *odd], by_key(8)))
    wait_answered(site)
    answers = audit(site, sent)
    assert len(answers.letters) > 60
    assert worker.terminate() == 0


def test_a_dead_letter_that_is_published_again_gets_new_dead_letter_headers(site: Site) -> None:
    site.apply_topics(1)
    worker = site.start_worker()
    old = (("dlt-reason", b"schema"), ("kept", b"1"), ("dlt-offset", b"77"), ("dlt-offset", b"78"))
    again = Published("match-analyzed", b"k", b"[]", now_ms(), old, Kind.INVALID, "schema")
    (sent,) = asyncio.run(publish(site, [again], by_key(1)))
    wait_answered(site)
    (letter,) = read_answers(site).letters
    assert [header for header in letter.headers if header[0] == "kept"] == [("kept", b"1")]
    assert [text for name, text in letter.headers if name == "dlt-offset"] == [b"%d" % sent.source.offset]
    assert [text for name, text in letter.headers if name == "dlt-reason"] == [b"schema"]
    assert worker.terminate() == 0


def test_every_codec_is_read(site: Site) -> None:
    site.apply_topics(8)
    worker = site.start_worker()
    mixed = records(1_500, seed=8)
    share = len(mixed) // len(CODECS) + 1

    async def publish_all() -> list[Sent]:
        sent = []
        for number, codec in enumerate(CODECS):
            chunk = mixed[number * share : (number + 1) * share]
            sent += await publish(site, chunk, by_key(8), compression_type=codec)
        return sent

    sent = asyncio.run(publish_all())
    wait_answered(site)
    audit(site, sent)
    assert worker.terminate() == 0


@pytest.mark.transactions
def test_transactions_are_rated_once_they_are_committed_and_never_if_they_are_aborted(site: Site) -> None:
    site.apply_topics(4)
    workers = site.start_workers(2, batch_max="50")
    mixed = records(1_500, seed=9)
    at_ms = now_ms()
    ghosts = [match(f"ghost-{number}", "ann", "bob", finished_at_ms=at_ms) for number in range(60)]
    sent: list[Sent] = []

    async def publish_all() -> None:
        async with AIOKafkaProducer(bootstrap_servers=site.bootstrap, transactional_id=site.prefix) as producer:
            for number in range(0, len(mixed), 100):
                await producer.begin_transaction()
                await publish_with(producer, site, ghosts, by_key(4))
                await producer.abort_transaction()
                async with producer.transaction():
                    sent.extend(await publish_with(producer, site, mixed[number : number + 100], by_key(4)))
            await producer.begin_transaction()
            await publish_with(producer, site, ghosts, by_key(4))
            await producer.abort_transaction()
        sent.extend(await publish(site, [match("last", "ann", "bob", finished_at_ms=at_ms)], by_key(4)))

    asyncio.run(publish_all())
    wait_answered(site)  # also what is behind the last record of every log: the marks of transactions
    audit(site, sent)
    assert [worker.terminate() for worker in workers] == [0, 0]
