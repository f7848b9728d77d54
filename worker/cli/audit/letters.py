"""Which inputs were answered as `unknown-pool`: a pool that was out of the pools file for a while has not seen them."""

from typing import Final

from worker.cli.audit.topics import open_topics
from worker.ratings.delivery import Source
from worker.ratings.refusal import Reason
from worker.settings import Settings
from worker.stream.inputs import INPUTS

_UNKNOWN_POOL: Final = Reason.UNKNOWN_POOL.encode()


async def answered_as_unknown_pool(settings: Settings) -> frozenset[Source]:
    """Return the coordinates of every input that has such a dead letter.

    Raises SettingsError where a topic is missing, and KafkaAwayError or a KafkaError where Kafka is away.
    """
    names = [f"{name}.dlt" for name in INPUTS]
    found: set[Source] = set()
    async with open_topics(settings, names) as topics:
        async for records in topics.read(await topics.ends(*names)):
            for record in records:
                said = dict(record.headers)
                if said.get("dlt-reason") == _UNKNOWN_POOL:
                    found.add(Source(said["dlt-topic"].decode(), int(said["dlt-partition"]), int(said["dlt-offset"])))
    return frozenset(found)
