"""Pools in the session's Redis with something in them, and the commands that read them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import pytest
from typer.testing import CliRunner, Result

from tests.ratings.ladder import AT, POOLS, SECOND, finished, instant_of, topic_of
from worker.cli.main import app
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event
from worker.settings import Settings
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoded
from worker.stream.opening import open_tables
from worker.tables.connect import connect

TOPICS = ("match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked")


@dataclass
class Standing:
    """One namespace of one Redis: `rate` applies events as a worker does, `run` runs a command that reads."""

    url: str
    namespace: str
    _offsets: Mapping[str, "count[int]"] = field(default_factory=lambda: {topic: count() for topic in TOPICS})

    def rate(self, *events: Event) -> None:
        asyncio.run(self._rate(events))

    async def _rate(self, events: Sequence[Event]) -> None:
        client = connect(self.url)
        tables = open_tables(client, Settings(redis_namespace=self.namespace), POOLS, "test")
        for pool in dict.fromkeys(event.pool for event in events):
            decoded = [self._decoded(event) for event in events if event.pool == pool]
            await apply(Target(pool, POOLS[pool], tables[pool], ""), decoded, Progress(0, {}))
        await client.aclose()

    def _decoded(self, event: Event) -> Decoded:
        topic = topic_of(event)
        source = Source(topic, 0, next(self._offsets[topic]))
        delivery = Delivery(source, instant_of(event) + SECOND, b"key", b"{}")
        return Decoded(delivery, event, event.pool, None, instant_of(event))

    def run(self, *arguments: str, typed: bytes | None = None) -> Result:
        environment = {"RATINGS_REDIS_URL": self.url, "RATINGS_REDIS_NAMESPACE": self.namespace, "COLUMNS": "160"}
        return CliRunner().invoke(app, arguments, input=typed, env=environment)


def some_matches(pool: str, *pairs: tuple[str, str]) -> list[Event]:
    """Return matches of these (winner, loser), a second apart."""
    return [
        finished(pool, f"m-{number}", winner, loser, at=AT + number * SECOND)
        for number, (winner, loser) in enumerate(pairs, start=1)
    ]


def told(result: Result) -> str:
    """Return what a command printed, which must have gone well."""
    if result.exit_code != 0:
        pytest.fail(f"exit code {result.exit_code}: {result.output}")
    return result.stdout
