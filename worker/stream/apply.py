"""Load, decide, commit: what a batch does to one pool."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from worker.ratings.decide import decide
from worker.ratings.delivery import Source
from worker.ratings.match import BEHIND_HORIZON
from worker.ratings.outcome import Outcome, refuse
from worker.ratings.refusal import Reason
from worker.ratings.state import State, WindowQuery
from worker.ratings.wire import Message, complete, messages
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.rules.ruleset import Ruleset
from worker.stream.decode import Decoded
from worker.tables.errors import LostWritesError
from worker.tables.tables import Cause, Loaded, Partition, PoolTables, Stored, Wanted


class Applied(NamedTuple):
    """What a batch did to one pool: what to publish, in order, and which outbox entries that settles.

    `outcomes` are those decided now, `repeated` counts events answered by an earlier run, `skipped` those settled
    before, `conflicts` those that had to be decided again. `position` is the pool's highest afterwards.
    """

    messages: list[Message]
    sources: list[Source]
    outcomes: list[tuple[Source, Outcome]]
    repeated: int
    skipped: int
    conflicts: int
    position: int


class Progress(NamedTuple):
    """What this worker knows that a pool's tables have confirmed: they may be further, but never behind."""

    position: int
    applied: Mapping[Partition, int]


class Target(NamedTuple):
    """The pool that a part of a batch goes to; events that name no configured pool have a `pool` of None."""

    name: str
    pool: Pool | None
    tables: PoolTables
    topic_prefix: str


Stage = Callable[[str], AbstractContextManager[None]]


def untimed(_name: str) -> AbstractContextManager[None]:
    """Time nothing."""
    return nullcontext()


async def apply(target: Target, events: Sequence[Decoded], progress: Progress, stage: Stage = untimed) -> Applied:
    """Apply one pool's part of a batch, timing its stages `load`, `decide` and `commit`.

    Raises LostWritesError where the tables are behind what they had confirmed.
    """
    tables = target.tables
    done = Applied([], [], [], 0, 0, 0, progress.position)
    waiting = list(events)
    while waiting:
        wanted = _wanted(target.pool, waiting)
        with stage("load"):
            loaded = await tables.load(wanted)
        _check(target.name, wanted.partitions, loaded, progress)
        fresh = [event for event in waiting if not _settled(event, loaded)]
        stored = {entry.source for entry in loaded.outbox}
        undecided = [event for event in fresh if event.delivery.source not in stored]
        _publish_stored(done, loaded.outbox)
        own = [event.delivery.source for event in fresh if event.delivery.source in stored]
        done.sources.extend(own)
        with stage("decide"):
            causes = _decide(target, undecided, loaded)
        with stage("commit"):
            committed = await tables.commit(causes)
        _publish_stored(done, committed.rests_on)
        stale = set()
        position = loaded.position
        for cause, given in zip(causes, committed.positions, strict=True):
            if given is None:
                stale.add(cause.source)
                continue
            position = max(position, given)
            done.outcomes.append((cause.source, cause.outcome))
            done.messages.extend(complete(message, given) for message in cause.messages)
            if cause.messages:
                done.sources.append(cause.source)
        done = done._replace(
            repeated=done.repeated + len(own),
            skipped=done.skipped + len(waiting) - len(fresh),
            conflicts=done.conflicts + len(stale),
            position=max(done.position, position),
        )
        waiting = [event for event in undecided if event.delivery.source in stale]
    return done


def _publish_stored(done: Applied, entries: Sequence[Stored]) -> None:
    for entry in entries:
        done.messages.extend(entry.messages)


def _wanted(pool: Pool | None, events: Sequence[Decoded]) -> Wanted:
    players: dict[str, None] = {}
    match_ids: dict[str, None] = {}
    games: dict[WindowQuery, None] = {}
    partitions: dict[Partition, None] = {}
    window_ms = pool.rules.window_ms if pool is not None else None
    for decoded in events:
        source = decoded.delivery.source
        partitions[Partition(source.topic, source.partition)] = None
        event = decoded.event
        if event is None:
            continue
        match_ids[event.match_id] = None
        if not isinstance(event, MatchFinished):
            players.update(dict.fromkeys(player.id for player in event.players))
            continue
        for player in (event.winner, event.loser):
            players[player.id] = None
            if window_ms is not None:
                games[player.id, event.finished_at_ms, event.match_id] = None
    sources = [decoded.delivery.source for decoded in events]
    return Wanted(list(players), list(match_ids), sources, list(partitions), list(games), window_ms or 0)


def _check(name: str, partitions: Sequence[Partition], loaded: Loaded, progress: Progress) -> None:
    for partition in partitions:
        found, believed = loaded.applied.get(partition, 0), progress.applied.get(partition, 0)
        if found < believed:
            raise LostWritesError(
                f"pool {name}, {partition.topic}/{partition.number}: Redis says offset {found} is next, "
                f"but it had confirmed {believed}"
            )
    if loaded.position < progress.position:
        reached = ", ".join(f"{key.topic}/{key.number} offset {offset}" for key, offset in loaded.applied.items())
        raise LostWritesError(
            f"pool {name}: Redis stands at position {loaded.position}, but had confirmed {progress.position}, "
            f"and says that next is {reached}"
        )


def _settled(event: Decoded, loaded: Loaded) -> bool:
    source = event.delivery.source
    return source.offset < loaded.applied.get(Partition(source.topic, source.partition), 0)


def _decide(target: Target, events: Sequence[Decoded], loaded: Loaded) -> list[Cause]:
    rules = target.pool.rules if target.pool is not None else None
    state = State(loaded.rows, loaded.records, loaded.parked, loaded.games, loaded.horizon_ms)
    causes = []
    for event in events:
        outcome = _outcome(rules, event, state)
        causes.append(Cause(event.delivery.source, outcome, messages(target.name, outcome, target.topic_prefix)))
    return causes


def _outcome(rules: Ruleset | None, decoded: Decoded, state: State) -> Outcome:
    if decoded.event is not None and rules is not None:
        return decide(rules, decoded.event, decoded.delivery, state)
    refusal = decoded.refusal
    if refusal is None:
        raise ValueError("an event is either decoded or refused")
    behind = decoded.instant_ms < state.horizon_ms
    if behind and refusal.reason is Reason.UNPUBLISHED_FORMULA:  # too-late is looked for first
        refusal = BEHIND_HORIZON
    return refuse("", (), decoded.instant_ms, decoded.delivery, refusal)
