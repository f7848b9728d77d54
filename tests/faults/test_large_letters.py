"""A dead letter that its topic does not take goes without its body."""

import asyncio

from tests.integration.support.promises import read_answers
from tests.integration.support.publishing import by_key, publish
from tests.integration.support.reading import wait_answered
from tests.integration.support.site import Site
from worker.cli.simulation import Kind, Published
from worker.cli.simulation.sending import now_ms

LIMIT = 10_000


def _bad(key: bytes, size: int) -> Published:
    value = bytes(range(256)) * (size // 256)
    return Published("match-finished", key, value, now_ms(), (("kept", b"1"),), Kind.INVALID, "not-json")


def test_a_dead_letter_too_large_for_its_topic_is_published_without_its_body_and_holds_nothing_up(site: Site) -> None:
    site.apply_topics(1, largest_letter=LIMIT)
    worker = site.start_worker()
    bad = [_bad(b"%d" % number, size) for number, size in enumerate((1_000, 50_000, 2_000, 90_000, *[3_000] * 20))]
    sent = asyncio.run(publish(site, bad, by_key(1)))
    wait_answered(site)
    letters = {int(dict(letter.headers)["dlt-offset"]): letter for letter in read_answers(site).letters}
    assert letters.keys() == {item.source.offset for item in sent}
    for item in sent:
        letter, record = letters[item.source.offset], item.record
        headers = dict(letter.headers)
        assert headers["dlt-reason"] == b"not-json"
        assert headers["dlt-topic"] == item.source.topic.encode()
        assert headers["dlt-partition"] == b"0"
        assert headers["dlt-timestamp"] == str(record.timestamp_ms).encode()
        if len(record.value or b"") < LIMIT:
            assert (letter.key, letter.value, headers["kept"]) == (record.key, record.value, b"1")
        else:
            assert not letter.value
    assert worker.terminate() == 0
