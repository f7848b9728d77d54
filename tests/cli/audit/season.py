"""A season of one pool in memory: inputs as Kafka holds them, rated by a worker's own path, and what it published."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import orjson

from tests.ratings.ladder import AT, HOUR, POOLS, SECOND, analyzed, awarded, finished, instant_of, linked, topic_of
from worker.cli.audit.inputs import Inputs
from worker.cli.audit.run import Audited, replay
from worker.ratings.delivery import Delivery, Header, Source
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import format_instant
from worker.rules.match import MatchFinished, Player
from worker.rules.pools import Pool
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoder
from worker.stream.inputs import INPUTS
from worker.tables.memory import MemoryStore, MemoryTables

PARTITIONS = 3


@dataclass(frozen=True)
class Record:
    """A Kafka record, as far as an audit looks at it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()

    def says(self, **fields: Any) -> "Record":
        """Return the record with other fields in its value; those of `details` by `details__name`."""
        value: dict[str, Any] = orjson.loads(self.value or b"{}")
        for name, content in fields.items():
            part, _, inner = name.partition("__")
            if inner:
                value[part][inner] = content
            else:
                value[part] = content
        return replace(self, value=orjson.dumps(value))

    @property
    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.value or b"{}")
        return found


@dataclass
class Season:
    """One pool, empty at first; `send` publishes an event and has it rated at once."""

    pool: str = "gammon42"
    store: MemoryStore = field(default_factory=MemoryStore)
    given: list[Record] = field(default_factory=list)
    published: list[Record] = field(default_factory=list)
    _offsets: dict[tuple[str, int], "count[int]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._decoders = {kind: Decoder(kind, POOLS) for kind in INPUTS}
        self._tables = MemoryTables(self.store, self.pool, "run")

    @property
    def configured(self) -> Pool:
        return POOLS[self.pool]

    def send(self, *events: Event, partition: int = 0, timestamp: int | None = None) -> None:
        """Publish events to a partition of their topics, and rate them."""
        for event in events:
            self.rate(self.give(event, partition=partition, timestamp=timestamp))

    def give(self, event: Event, *, partition: int = 0, timestamp: int | None = None) -> Record:
        """Publish an event that nobody rates."""
        written = instant_of(event) + SECOND if timestamp is None else timestamp
        record = self._next(topic_of(event), partition, written, b"key", orjson.dumps(as_json(event)), ())
        self.given.append(record)
        return record

    def rate(self, record: Record) -> None:
        source = Source(record.topic, record.partition, record.offset)
        decoded = self._decoders[record.topic].decode(Delivery(source, record.timestamp, record.key, record.value))
        target = Target(self.pool, POOLS[self.pool], self._tables, "")
        applied = asyncio.run(apply(target, [decoded], Progress(0, {})))
        self.store.outbox.clear()
        for message in applied.messages:
            if message.topic == "rating-changed":
                partition = (message.key or b"")[-1] % PARTITIONS
                headers = tuple(message.headers)
                self.published.append(self._next(message.topic, partition, 0, message.key, message.value, headers))

    def _next(self, topic: str, partition: int, timestamp: int, *rest: Any) -> Record:
        offset = next(self._offsets.setdefault((topic, partition), count()))
        return Record(topic, partition, offset, timestamp, *rest)

    def inputs(self) -> Inputs:
        """Return what an audit makes of everything that was published."""
        inputs = Inputs(POOLS[self.pool], POOLS, "", timed=True)
        for record in self.given:
            inputs.add(record)
        return inputs

    def audit(self) -> Audited:
        return replay(POOLS[self.pool], self.published, self.inputs())

    def sentence(self) -> str:
        """Return what the audit finds wrong, which must be something."""
        difference = self.audit().difference
        assert difference is not None
        return difference.sentence

    def of(self, player_id: str, seq: int) -> int:
        """Return the index of a player's change among the published ones."""
        wanted = (player_id, seq)
        return next(
            index
            for index, record in enumerate(self.published)
            if (record.said["player_id"], record.said["seq"]) == wanted
        )

    def falsify(self, player_id: str, seq: int, /, **fields: Any) -> None:
        """Publish other fields in one change."""
        index = self.of(player_id, seq)
        self.published[index] = self.published[index].says(**fields)


def as_json(event: Event) -> dict[str, Any]:
    """Return the value of an input, with everything said that the event says."""
    if isinstance(event, MatchFinished):
        said: dict[str, Any] = {
            name: getattr(event, name)
            for name in ("pool", "match_id", "mode", "cube", "length", "elo_enabled", "same_network", "end_reason")
        }
        said |= {"win_type": event.win_type, "formula_version": event.formula_version}
        said |= {"winner": _player(event.winner), "loser": _player(event.loser)}
        return {
            "finished_at": format_instant(event.finished_at_ms),
            **{name: content for name, content in said.items() if content is not None},
        }
    if isinstance(event, MatchAnalyzed):
        players = [{"player_id": player.id, "pr": player.pr} for player in event.players]
        return {
            "pool": event.pool,
            "match_id": event.match_id,
            "players": players,
            "revision": event.revision,
            "analyzed_at": format_instant(event.analyzed_at_ms),
        }
    if isinstance(event, TournamentPrizeAwarded):
        return {
            "pool": event.pool,
            "tournament_id": event.tournament_id,
            "player_id": event.player_id,
            "place": event.place,
            "amount": event.amount,
            "awarded_at": format_instant(event.awarded_at_ms),
        }
    assert isinstance(event, IdentityLinked)
    return {
        "pool": event.pool,
        "anonymous_id": event.anonymous_id,
        "account_id": event.account_id,
        "linked_at": format_instant(event.linked_at_ms),
    }


def _player(player: Player) -> Mapping[str, Any]:
    return {"player_id": player.id, "kind": player.kind, "pr": player.pr}


def gammon42() -> Season:
    """Return five games, two of them late, an excluded one, a repeat, a conflict and two prizes."""
    season = Season("gammon42")
    season.send(
        finished("gammon42", "m-1", "ann", "bob"),
        finished("gammon42", "m-2", "bob", "cem", at=AT + HOUR, cube=4),
        finished("gammon42", "m-3", "ann", "cem", at=AT + 2 * HOUR),
        finished("gammon42", "m-4", "dan", "ann", at=AT + HOUR),
        finished("gammon42", "m-5", "dan", "bob", at=AT + 2 * HOUR, mode="boosted"),
        finished("gammon42", "m-1", "ann", "bob"),
        finished("gammon42", "m-1", "ann", "bob", cube=2),
        awarded("t-1", "ann", 25, at=AT + 3 * HOUR),
        awarded("t-1", "eve", 10, 2, at=AT + 3 * HOUR),
        finished("gammon42", "m-6", "eve", "dan", at=AT + 4 * HOUR),
    )
    return season


def blitzgammon() -> Season:
    """Return matches that are settled inline, by a parked analysis, by a late one and by a revision of it."""
    season = Season("blitzgammon")
    season.send(
        finished("blitzgammon", "m-1", "ann", "bob", prs=(9.0, 4.0)),
        analyzed("blitzgammon", "m-2", (9.0, 4.0)),
        analyzed("blitzgammon", "m-2", (4.0, 9.0), 2),
        finished("blitzgammon", "m-2", "ann", "bob", at=AT + HOUR),
        finished("blitzgammon", "m-3", "ann", "bob", at=AT + 2 * HOUR),
        analyzed("blitzgammon", "m-3", (9.0, 4.0), at=AT + 3 * HOUR),
        analyzed("blitzgammon", "m-3", (4.0, 4.0), 2, at=AT + 4 * HOUR),
        analyzed("blitzgammon", "m-3", (4.0, 4.0), 1, at=AT + 4 * HOUR),
        finished("blitzgammon", "m-4", "cem", "bob", at=AT + 5 * HOUR),
    )
    return season


def nardeon() -> Season:
    """Return matches of unrounded ratings; the third makes ann and bob known to the leaderboard."""
    season = Season("nardeon")
    season.send(
        *(finished("nardeon", f"m-{n}", "ann", "bob", at=AT + n * HOUR, length=n) for n in (3, 5, 7)),
        finished("nardeon", "m-8", "cem", "ann", at=AT + 8 * HOUR),
    )
    return season


def season0() -> Season:
    """Return an anonymous id that a fresh account takes over, one that retires, and matches of both afterwards."""
    season = Season("season0")
    season.send(
        finished("season0", "m-1", "anon-1", "bob"),
        linked("anon-1", "ann", at=AT + HOUR),
        finished("season0", "m-2", "anon-1", "bob", at=AT + 2 * HOUR),
        finished("season0", "m-3", "anon-2", "cem", at=AT + 3 * HOUR),
        linked("anon-2", "bob", at=AT + 4 * HOUR),
        linked("anon-2", "cem", at=AT + 4 * HOUR),
        finished("season0", "m-4", "anon-2", "ann", at=AT + 5 * HOUR),
        finished("season0", "m-5", "ann", "anon-1", at=AT + 5 * HOUR),
    )
    return season


SEASONS = {"gammon42": gammon42, "blitzgammon": blitzgammon, "nardeon": nardeon, "season0": season0}
