"""Results of a few players who meet again and again, as the records of a topic's partitions."""

import random
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from tests.ratings.ladder import AT, MINUTE, SECOND, analyzed, awarded, finished, instant_of, linked, topic_of
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


def decoded(event: Event, source: Source, about: str = "") -> Decoded:
    """Return the event as a record whose bytes tell what it is `about`: its match_id or, if it has none, its kind."""
    at = instant_of(event)
    about = about or getattr(event, "match_id", topic_of(event))
    delivery = Delivery(source, at + SECOND, about.encode(), orjson.dumps({"id": about}))
    return Decoded(delivery, event, event.pool, None, at)


def traffic(pool: str, matches: int, chance: random.Random, players: int = 6) -> Traffic:
    """Return matches of `players` players with repetitions, conflicts, late ones, exclusions and whatever else is used.

    That is analyses, prizes or links; among the latter, players come and go. No two analyses have the same instant, so
    that an event of ours tells which one it came from.
    """
    ids = [f"p-{number}" for number in range(players)]
    events: list[tuple[float, Event]] = []
    for number in range(matches):
        if pool == "season0" and number % 10 == 9:
            ids = [*ids[1:], f"p-{players + number}"]
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
        if pool == "gammon42" and chance.random() < 0.2:
            events += [(number + chance.choice([0, 0, 2]), prize) for prize in _prizes(ids, number, chance)]
        if pool == "season0" and chance.random() < 0.2:
            if chance.random() < 0.5:
                ids = [*ids[1:], f"new-{number}"]
            pair = [chance.choice(ids[:-1]), ids[-1]]
            at = AT + number * MINUTE
            again = chance.choice([pair, pair, pair[::-1], [pair[0], loser]])
            events += [(number, linked(*pair, at=at))]
            events += [(number + 2, linked(*again, at=at + SECOND))] if again[0] != again[1] else []
    return Traffic(pool, [event for _, event in sorted(events, key=lambda one: (one[0], chance.random()))])


def _prizes(ids: list[str], number: int, chance: random.Random) -> list[Event]:
    """Return a tournament's prizes, of which one may come twice or contradict another; some have never played."""
    paid = chance.sample([*ids, f"only-{number}"], 3)
    at = AT + number * MINUTE
    prizes = [awarded(f"t-{number}", name, 50 // place, place, at=at) for place, name in enumerate(paid, 1)]
    if chance.random() < 0.5:
        prizes.append(replace(prizes[0], amount=chance.choice([50, 50, 25]), awarded_at_ms=at + SECOND))
    return list(prizes)
