"""Results of a few players who meet again and again, as the records of a topic's partitions."""

import random
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from tests.ratings.ladder import AT, MINUTE, SECOND, analyzed, finished, instant_of, topic_of
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event
from worker.stream.decode import Decoded
from worker.tables.tables import Partition

Log = dict[Partition, list[Decoded]]
"""What stands in each partition, by offset."""


class Traffic(NamedTuple):
    """Events in the order in which they are sent."""

    pool: str
    events: list[Event]

    def log(self, partitions: int, chance: random.Random) -> Log:
        """Spread the events over the partitions of their topics, as publishers that know nothing of each other do."""
        log: Log = {}
        for event in self.events:
            partition = Partition(topic_of(event), chance.randrange(partitions))
            records = log.setdefault(partition, [])
            records.append(decoded(event, Source(*partition, len(records))))
        return log


def decoded(event: Event, source: Source) -> Decoded:
    at = instant_of(event)
    delivery = Delivery(source, at + SECOND, event.match_id.encode(), orjson.dumps({"id": event.match_id}))
    return Decoded(delivery, event, event.pool, None, at)


def traffic(pool: str, matches: int, chance: random.Random, players: int = 6) -> Traffic:
    """Return matches of `players` players with repetitions, conflicts, late ones, exclusions and, if used, analyses.

    No two analyses have the same instant, so that an event of ours tells which one it came from.
    """
    ids = [f"p-{number}" for number in range(players)]
    events: list[tuple[float, Event]] = []
    for number in range(matches):
        winner, loser = chance.sample(ids, 2)
        at = AT + number * MINUTE + chance.choice([0, 0, 0, -50 * MINUTE])
        prs = chance.choice([(None, None), (None, None), (4.0, 9.0), (9.0, 4.0)])
        match = finished(pool, f"m-{number}", winner, loser, at=at, prs=prs)
        if chance.random() < 0.03:
            match = replace(match, winner=replace(match.winner, kind="bot"))
        events.append((number, match))
        if chance.random() < 0.1:
            other = match if chance.random() < 0.5 else replace(match, winner=match.loser, loser=match.winner)
            events.append((number + chance.choice([0, 0, 3]), other))
        if pool == "blitzgammon":
            for revision in range(1, 1 + chance.choice([0, 1, 1, 2])):
                names = (winner, loser) if chance.random() < 0.95 else (loser, "stranger")
                prs = chance.choice([(4.0, 9.0), (9.0, 4.0), (None, 4.0)])
                analyzed_at = AT + len(events) * SECOND
                analysis = analyzed(pool, match.match_id, prs, revision, players=names, at=analyzed_at)
                events.append((number + chance.choice([-3, 0, 0, 0, 3]), analysis))
    return Traffic(pool, [event for _, event in sorted(events, key=lambda one: (one[0], chance.random()))])
