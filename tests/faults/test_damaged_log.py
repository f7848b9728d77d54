"""A batch whose bytes are not those that were written: waited for, and never rated, skipped or taken for a letter."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.support.events import match
from tests.integration.support.promises import audit, read_answers
from tests.integration.support.publishing import Sent, by_key, publish
from tests.integration.support.reading import until_published, wait_answered
from tests.integration.support.site import Site
from tests.servers.kafka import KafkaServer, start_kafka
from worker.cli.simulation.sending import now_ms

DOES_NOT_FIT = 3


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[KafkaServer]:
    server = start_kafka(tmp_path / "kafka")
    yield server
    server.kill()


def _publish(site: Site, *match_ids: str) -> list[Sent]:
    """Publish matches, each in a batch of its own."""
    at_ms = now_ms()
    matches = [match(match_id, "ann", "bob", finished_at_ms=at_ms) for match_id in match_ids]
    return [sent for each in matches for sent in asyncio.run(publish(site, [each], by_key(1)))]


def _replace_in_log(server: KafkaServer, site: Site, old: bytes, new: bytes) -> None:
    """Change bytes of partition 0 of the matches where they lie."""
    [segment] = (server.directory / "log" / f"{site.topic('match-finished')}-0").glob("*.log")
    with segment.open("r+b") as log:
        at = log.read().index(old)
        log.seek(at)
        log.write(new)


@pytest.mark.real_kafka
def test_a_damaged_batch_is_fetched_again_until_it_is_whole_or_for_good_lost(
    site: Site, own_kafka: KafkaServer
) -> None:
    corner = site.on_kafka(own_kafka.bootstrap)
    corner.apply_topics(1)
    (worker,) = corner.start_workers(1)
    worker.pause()
    sent = _publish(corner, "m-1", "m-2", "m-3")
    _replace_in_log(own_kafka, corner, b'"m-2"', b'"m-X"')
    worker.resume()
    worker.until_logs("fetching a damaged batch again")
    asyncio.run(until_published(corner, 2))  # of the match before it
    _replace_in_log(own_kafka, corner, b'"m-X"', b'"m-2"')
    wait_answered(corner)
    audit(corner, sent)
    assert worker.terminate() == 0

    _publish(corner, "m-4", "m-5", "m-6")
    _replace_in_log(own_kafka, corner, b'"m-5"', b'"m-Y"')
    last = corner.start_worker(retry_s="2")
    assert last.ends_with() == DOES_NOT_FIT, last.output
    assert f"{corner.topic('match-finished')}/0: the batch at offset 4 is damaged" in last.output
    answers = read_answers(corner)
    assert [change.value["cause"]["match_id"] for change in answers.changes[::2]] == ["m-1", "m-2", "m-3", "m-4"]
    assert not answers.letters
