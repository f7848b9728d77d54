"""Publishing after Kafka refused something."""

import asyncio

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError, TopicAuthorizationFailedError
from msgspec.structs import replace

from worker.ratings.wire import Message
from worker.settings import Settings
from worker.stream import publish as module
from worker.stream.publish import Publisher, PublishError

LETTER = Message("match-finished.dlt", b"k", b"{", [("dlt-reason", b"not-json"), ("own", b"x")])
CHANGE = Message("rating-changed", b"k", b"{}", [])


class Batch:
    def __init__(self):
        self.records = []

    def append(self, **record):
        self.records.append(record)
        return record


class Kafka:
    """Producers that note what is confirmed; each start and each batch may fail as told."""

    def __init__(self, *, starts=(), batches=()):
        self.starts, self.batches = list(starts), list(batches)
        self.producers = 0
        self.confirmed = []

    def __call__(self, **_options):
        return Producer(self)


class Producer:
    def __init__(self, kafka):
        self.kafka = kafka

    async def start(self):
        if self.kafka.starts and (error := self.kafka.starts.pop(0)) is not None:
            raise error
        self.kafka.producers += 1

    async def stop(self):
        pass

    async def partitions_for(self, _topic):
        return {0}

    def create_batch(self):
        return Batch()

    async def send_batch(self, batch, topic, **_partition):
        confirmed = asyncio.get_running_loop().create_future()
        error = self.kafka.batches.pop(0) if self.kafka.batches else None
        if error is not None:
            confirmed.set_exception(error)
        else:
            self.kafka.confirmed += [(topic, record["value"]) for record in batch.records]
            confirmed.set_result(None)
        return confirmed


def run(monkeypatch, kafka, *calls):
    """Publish each list of messages in turn, and return how each call ended."""
    monkeypatch.setattr(module, "AIOKafkaProducer", kafka)

    async def all_of_them():
        publisher, ends = Publisher(Settings()), []
        await publisher.start()
        for messages in calls:
            try:
                ends.append(await publisher.publish(messages))
            except Exception as error:
                ends.append(error)
        return ends

    return asyncio.run(all_of_them())


def test_large_keys_are_not_kept(monkeypatch):
    """Those of events come again and again, those of dead letters are a publisher's."""
    module._murmur2.cache_clear()
    keys = [b"k" * 100, b"k" * 1024, b"k" * 1025, b"k" * 1_000_000, b"", None]
    kafka = Kafka()
    assert run(monkeypatch, kafka, [replace(LETTER, key=key) for key in keys]) == [None]
    assert module._murmur2.cache_info().currsize == 3


def test_after_a_refusal_all_is_published_again_by_a_new_producer(monkeypatch):
    kafka = Kafka(batches=[TopicAuthorizationFailedError()])
    refused, done = run(monkeypatch, kafka, [CHANGE], [CHANGE])
    assert isinstance(refused, PublishError)
    assert "rating-changed/0" in str(refused)
    assert done is None
    assert (kafka.producers, kafka.confirmed) == (2, [("rating-changed", b"{}")])


@pytest.mark.parametrize("message", [CHANGE, LETTER])
def test_a_new_producer_that_cannot_connect_is_tried_again(monkeypatch, message):
    kafka = Kafka(starts=[None, KafkaConnectionError()], batches=[MessageSizeTooLargeError()])
    *failed, done = run(monkeypatch, kafka, [message], [message], [message])
    assert any(isinstance(error, KafkaConnectionError) for error in failed)
    assert done is None
    assert kafka.confirmed[-1] == (message.topic, message.value)


def test_a_letter_too_large_goes_without_its_body_and_the_next_one_with(monkeypatch):
    kafka = Kafka(batches=[MessageSizeTooLargeError(), MessageSizeTooLargeError()])
    assert run(monkeypatch, kafka, [LETTER, LETTER]) == [None]
    assert kafka.confirmed == [(LETTER.topic, None), (LETTER.topic, b"{")]


def test_what_fails_after_a_letter_too_large_leaves_no_producer_with_a_hole(monkeypatch):
    kafka = Kafka(batches=[MessageSizeTooLargeError(), TopicAuthorizationFailedError()])
    refused, done = run(monkeypatch, kafka, [LETTER], [LETTER])
    assert isinstance(refused, TopicAuthorizationFailedError)
    assert done is None
    assert kafka.producers == 3
