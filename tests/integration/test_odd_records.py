"""Records that Kafka takes and few expect: each is answered, in its turn, and what came goes out as it came."""

import asyncio
import json
import time

import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord
from typer.testing import CliRunner

from tests.integration.support.crashes import kill_and_forget, unsettled
from tests.integration.support.events import analysis, match
from tests.integration.support.promises import Answers, audit, read_answers
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import admin, wait_answered
from tests.integration.support.site import INPUTS, Site
from tests.stream.raw_batches import CODECS, Raw, batch_of
from worker.cli.main import app
from worker.cli.simulation import Kind, Published
from worker.cli.simulation.sending import now_ms
from worker.ratings.delivery import Header

NULLS: tuple[Header, ...] = (("trace", None), ("trace", b""), ("", b"\x00\xff"), ("größe", None), ("trace", None))


def _rated(answers: Answers) -> list[str]:
    return [change.value["cause"]["match_id"] for change in answers.changes[::2]]


def _headers(letter: ConsumerRecord) -> dict[str, str]:
    return {name: value.decode() for name, value in letter.headers}


async def _publish_bytes(site: Site, topic: str, batches: list[bytes]) -> None:
    """Publish batches as they stand to partition 0."""
    async with AIOKafkaProducer(bootstrap_servers=site.bootstrap) as producer:
        for raw in batches:
            batch = producer.create_batch()
            batch.append(timestamp=None, key=None, value=b"in its place")
            batch._build()
            batch._buffer = raw
            await (await producer.send_batch(batch, site.topic(topic), partition=0))


async def _delete_letter_topics(site: Site) -> None:
    async with admin(site) as client:
        gone = [site.topic(f"{name}.dlt") for name in INPUTS]
        await client.delete_topics(gone)
        deadline = time.monotonic() + 30
        while set(gone) & set(await client.list_topics()):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


def test_an_analysis_with_a_header_of_null_waits_for_its_match_and_settles_it(site: Site) -> None:
    site.apply_topics(1)
    (worker,) = site.start_workers(1)
    at_ms = now_ms()
    early = analysis("m-1", {"ann": 9.0, "bob": 4.0}, analyzed_at_ms=at_ms, kind=Kind.EARLY_ANALYSIS)
    other = analysis("m-1", {"cem": 9.0, "bob": 4.0}, analyzed_at_ms=at_ms, kind=Kind.INVALID)
    parked = [early._replace(headers=NULLS), other._replace(headers=NULLS, reason="players-mismatch", key=None)]
    sent = asyncio.run(publish(site, parked, lambda _: 0))
    wait_answered(site)
    sent += asyncio.run(publish(site, [match("m-1", "ann", "bob", finished_at_ms=at_ms)], lambda _: 0))
    wait_answered(site)
    answers = audit(site, sent)
    assert [change.value["details"]["revision"] for change in answers.changes] == [1, 1]
    [letter] = answers.letters
    assert (letter.key, letter.value, letter.headers[: len(NULLS)]) == (None, parked[1].value, NULLS)
    assert worker.terminate() == 0


@pytest.mark.real_kafka
def test_a_letter_with_a_header_of_null_is_published_by_the_worker_after_the_one_that_was_killed(site: Site) -> None:
    site.apply_topics(1)
    (worker,) = site.start_workers(1)
    asyncio.run(_delete_letter_topics(site))  # so that the worker commits and cannot publish
    poison = Published("match-finished", b"\xff", b"\x00{", now_ms(), NULLS, Kind.INVALID, "not-json")
    sent = asyncio.run(publish(site, [poison], by_key(1)))
    worker.until_logs("trying again")
    assert asyncio.run(unsettled(site)) == 1
    kill_and_forget(site, worker)
    site.apply_topics(1)
    worker.start_again()
    wait_answered(site)
    [letter] = audit(site, sent).letters
    assert (letter.key, letter.value, letter.headers[: len(NULLS)]) == (b"\xff", b"\x00{", NULLS)
    assert worker.terminate() == 0


def _raw(number: int, at_ms: int, **more: object) -> Raw:
    record = match(f"m-{number}", "ann", "bob", finished_at_ms=at_ms)
    return Raw(record.value, record.key)._replace(**more)


def test_what_the_client_cannot_read_becomes_a_letter_with_coordinates_and_its_neighbours_are_rated(
    site: Site,
) -> None:
    site.apply_topics(1)
    (worker,) = site.start_workers(1, batch_max="4")
    at_ms = now_ms()
    unnamed = [(b"kept", b"1"), (b"\xfe\xff", b"v")]
    batches = [
        batch_of(
            *(_raw(10 * at + number, at_ms, headers=unnamed if number in (2, 5) else ()) for number in range(7)),
            codec=codec,
            first_ms=at_ms,
            newest_ms=at_ms,
        )
        for at, codec in enumerate(CODECS)
    ]
    asyncio.run(_publish_bytes(site, "match-finished", [batch.sealed() for batch in batches]))
    wait_answered(site)
    answers = read_answers(site)
    expected = [10 * at + number for at in range(len(CODECS)) for number in range(7) if number not in (2, 5)]
    assert _rated(answers) == [f"m-{number}" for number in expected]
    assert [(letter.key, letter.value, _headers(letter)) for letter in answers.letters] == [
        (
            None,
            None,
            {
                "dlt-reason": "not-json",
                "dlt-message": r"The name of a header must be UTF-8, but is b'\xfe\xff'.",
                "dlt-topic": site.topic("match-finished"),
                "dlt-partition": "0",
                "dlt-offset": str(7 * at + number),
                "dlt-timestamp": str(at_ms),
                "dlt-body": "left out: unreadable",
            },
        )
        for at in range(len(CODECS))
        for number in (2, 5)
    ]
    whole = CliRunner().invoke(app, ["audit", "blitzgammon", "--from-topics", "--json"], env=site.environment())
    assert whole.exit_code == 0, whole.output
    assert json.loads(whole.stdout)["inputs"]["match-finished"] == {"rated": len(expected)}
    assert worker.terminate() == 0


@pytest.mark.real_kafka
def test_records_that_claim_the_offsets_of_others_lead_no_worker_astray(site: Site) -> None:
    site.apply_topics(1)
    (worker,) = site.start_workers(1)
    at_ms = now_ms()
    claims = [0, 0, 1_000, 3]
    records = [_raw(number, at_ms, delta=delta) for number, delta in enumerate(claims)]
    batches = [batch_of(*records, first_ms=at_ms, newest_ms=at_ms), batch_of(_raw(9, at_ms), first_ms=at_ms)]
    asyncio.run(_publish_bytes(site, "match-finished", [batch.sealed() for batch in batches]))
    wait_answered(site)
    answers = read_answers(site)
    assert _rated(answers) == ["m-0", "m-3", "m-9"]
    assert [_headers(letter)["dlt-offset"] for letter in answers.letters] == ["1", "2"]
    assert worker.terminate() == 0
