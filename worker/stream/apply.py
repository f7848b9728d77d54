"""Load, decide, commit: what a batch does to one pool."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from worker.ratings.decide import decide
from worker.ratings.delivery import Source
from worker.ratings.events import IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.match import BEHIND_HORIZON
from worker.ratings.outcome import Outcome, refuse
from worker.ratings.refusal import Reason
from worker.ratings.state import PrizeKey, State, WindowQuery
from worker.ratings.wire import Message, complete, messages
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.rules.ruleset import Ruleset
from worker.stream.decode import Decoded
from worker.tables.errors import LostWritesError
from worker.tables.tables import SETTLED, Cause, Commit, Committed, Loaded, Partition, PoolTables, Stored, Wanted


@dataclass(slots=True)
class Applied:
    """What a batch did to one pool, as far as it has come: what to publish, in order, and which entries that settles.

    `outcomes` are those decided now, `repeated` counts events answered by an earlier run, `skipped` those settled
    before, `conflicts` those that had to be decided again. `position` is the highest that the pool was seen at.
    """

    position: int
    messages: list[Message] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    outcomes: list[tuple[Source, Outcome]] = field(default_factory=list)
    repeated: int = 0
    skipped: int = 0
    conflicts: int = 0


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


TURN = 50
"""After how many decisions the event loop gets a turn."""
Stage = Callable[[str], AbstractContextManager[None]]


def untimed(_name: str) -> AbstractContextManager[None]:
    """Time nothing."""
    return nullcontext()


class Decided(NamedTuple):
    """A pool's part of a batch, decided and not yet committed.

    `commit` has the events decided now; `answered` those that an earlier run has committed and `stored` what is to be
    published for them and for what they rest on; `skipped` counts those that were settled before.
    """

    events: Sequence[Decoded]
    commit: Commit
    answered: Sequence[Source]
    stored: Sequence[Stored]
    skipped: int
    position: int


async def apply(target: Target, events: Sequence[Decoded], progress: Progress, stage: Stage = untimed) -> Applied:
    """Load, decide and commit one pool's part of a batch, timing each as a stage of that name.

    Raises LostWritesError where the tables are behind what they had confirmed.
    """
    loaded = await load(target, events, progress, stage)
    decided = await decide_all(target, events, loaded, None, stage)
    return (await commit(target, decided, (), progress, stage))[0]


async def load(target: Target, events: Sequence[Decoded], progress: Progress, stage: Stage = untimed) -> Loaded:
    """Return all that the events need to be decided. Raises LostWritesError as `apply` does."""
    wanted = wanted_for(target.pool, events)
    with stage("load"):
        loaded = await target.tables.load(wanted)
    _check(target.name, wanted.partitions, loaded, progress)
    return loaded


async def decide_all(
    target: Target, events: Sequence[Decoded], loaded: Loaded, before: Decided | None, stage: Stage = untimed
) -> Decided:
    """Decide the events in order, on what was loaded and on top of `before`, which is not in what was loaded.

    If any cause of `before` turns out stale, this has to be done anew, on what is loaded then.
    """
    fresh = [event for event in events if not _settled(event, loaded)]
    stored = {entry.source for entry in loaded.outbox}
    answered = [event.delivery.source for event in fresh if event.delivery.source in stored]
    state = state_of(loaded)
    for cause in before.commit.causes if before is not None else ():
        state.apply(cause.outcome)
    rules = target.pool.rules if target.pool is not None else None
    causes: list[Cause] = []
    with stage("decide"):
        for event in fresh:
            if event.delivery.source in stored:
                continue
            outcome = _outcome(rules, event, state)
            answers = messages(target.name, outcome, target.topic_prefix)
            causes.append(Cause(event.delivery.source, outcome, answers))
            if len(causes) % TURN == 0:
                await asyncio.sleep(0)  # what is under way to Redis and Kafka must not wait for the whole batch
    with stage("prepare"):
        prepared = target.tables.prepare(causes)
    return Decided(events, prepared, answered, loaded.outbox, len(events) - len(fresh), loaded.position)


def state_of(loaded: Loaded) -> State:
    """Return what was loaded as what events are decided on."""
    return State(
        loaded.rows,
        loaded.records,
        loaded.parked,
        loaded.games,
        loaded.horizon_ms,
        loaded.prizes,
        loaded.links,
    )


async def commit(
    target: Target, decided: Decided, following: Sequence[Decoded], progress: Progress, stage: Stage = untimed
) -> tuple[Applied, Loaded | None]:
    """Commit what was decided, and in the same round trip load what the events `following` need.

    What comes back stale is loaded and decided again, until nothing does; what was loaded meanwhile is then of no use.
    """
    done = Applied(progress.position)
    stale, loaded = await _commit_once(target, decided, following, progress, done, stage)
    while stale:
        loaded = None
        done.conflicts += len(stale)
        events = [event for event in decided.events if event.delivery.source in stale]
        decided = await decide_all(target, events, await load(target, events, progress, stage), None, stage)
        stale, _ = await _commit_once(target, decided, (), progress, done, stage)
    return done, loaded


def _add(done: Applied, entries: Sequence[Stored]) -> None:
    for entry in entries:
        done.messages.extend(entry.messages)


async def _commit_once(
    target: Target,
    decided: Decided,
    following: Sequence[Decoded],
    progress: Progress,
    done: Applied,
    stage: Stage,
) -> tuple[set[Source], Loaded | None]:
    """Commit, add to `done` what that wrote and what had been written before, and return the sources of the stale."""
    done.position = max(done.position, decided.position)
    done.repeated += len(decided.answered)
    done.skipped += decided.skipped
    done.sources.extend(decided.answered)
    _add(done, decided.stored)
    if not decided.commit.causes:
        return set(), await load(target, following, progress, stage) if following else None
    with stage("commit"):
        committed, loaded = await _commit_and_load(target, decided.commit, following, progress)
    _add(done, committed.rests_on)
    stale = set()
    for cause, position in zip(decided.commit.causes, committed.positions, strict=True):
        if position is None:
            stale.add(cause.source)
            continue
        if position == SETTLED:
            done.skipped += 1
            continue
        done.position = max(done.position, position)
        done.outcomes.append((cause.source, cause.outcome))
        if cause.messages:
            done.messages.extend([complete(message, position) for message in cause.messages])
            done.sources.append(cause.source)
    return stale, loaded


async def _commit_and_load(
    target: Target, prepared: Commit, following: Sequence[Decoded], progress: Progress
) -> tuple[Committed, Loaded | None]:
    if not following:
        return await target.tables.commit(prepared), None
    wanted = wanted_for(target.pool, following)
    committed, loaded = await target.tables.commit_then_load(prepared, wanted)
    _check(target.name, wanted.partitions, loaded, progress)
    return committed, loaded


def wanted_for(pool: Pool | None, events: Sequence[Decoded]) -> Wanted:
    """Return all that deciding these events needs."""
    players: dict[str, None] = {}
    match_ids: dict[str, None] = {}
    games: dict[WindowQuery, None] = {}
    prizes: dict[PrizeKey, None] = {}
    partitions: dict[Partition, None] = {}
    window_ms = pool.rules.window_ms if pool is not None else None
    for decoded in events:
        source = decoded.delivery.source
        partitions[Partition(source.topic, source.partition)] = None
        event = decoded.event
        if isinstance(event, MatchFinished):
            match_ids[event.match_id] = None
            for player in (event.winner, event.loser):
                players[player.id] = None
                if window_ms is not None:
                    games[player.id, event.finished_at_ms, event.match_id] = None
        elif isinstance(event, MatchAnalyzed):
            match_ids[event.match_id] = None
            players.update(dict.fromkeys(player.id for player in event.players))
        elif isinstance(event, TournamentPrizeAwarded):
            players[event.player_id] = None
            prizes[event.tournament_id, event.player_id] = None
        elif isinstance(event, IdentityLinked):
            players[event.anonymous_id] = players[event.account_id] = None
    sources = [decoded.delivery.source for decoded in events]
    return Wanted(list(players), list(match_ids), sources, list(partitions), list(games), window_ms or 0, list(prizes))


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
