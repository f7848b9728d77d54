"""The causes of one pool, one by one in the order of `position`, through the rules."""

from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from worker.cli.audit.attempts import Attempt, agrees, ways_to_settle
from worker.cli.audit.choices import Choices
from worker.cli.audit.difference import Difference
from worker.cli.audit.inputs import Input, Inputs
from worker.cli.audit.misfit import misfit
from worker.cli.audit.published import SIDES, Named, Published
from worker.cli.audit.records import KeptRecords
from worker.cli.audit.windows import Windows
from worker.cli.words import shown_id
from worker.ratings.decide import decide
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.outcome import Outcome
from worker.ratings.rows import Link, MatchRecord, Prize, Prs, Row
from worker.ratings.state import PrizeKey, State
from worker.rules.match import MatchFinished
from worker.rules.pools import Pool
from worker.rules.ruleset import Rating

_KINDS: dict[type[Event], str] = {
    MatchFinished: "match-finished",
    MatchAnalyzed: "match-analyzed",
    TournamentPrizeAwarded: "tournament-prize-awarded",
    IdentityLinked: "identity-linked",
}

NO_PLACE: Final = 0xFFFF


class Replay:
    """What a pool must hold after the causes so far, all of it computed here."""

    def __init__(self, pool: Pool, inputs: Inputs, topic_prefix: str) -> None:
        self.pool = pool
        self.position = 0
        self.changes = 0
        self.rows: dict[str, Row] = {}
        self.last_position: dict[str, int] = {}
        """By player, the position of the last cause that wrote the row."""
        self.contributed: dict[str, Rating] = {}
        """By player, what matches contribute as their records stand, prizes, and what was taken over."""
        self.records = KeptRecords(terms=pool.rules.pr_rule is not None)
        self.windows = Windows(pool.rules.window_ms or 0)
        self.prizes: dict[PrizeKey, Prize] = {}
        self.links: dict[str, Link] = {}
        self.used = Used()
        self.choices = Choices()
        self._inputs = inputs
        self._topic_prefix = topic_prefix
        self.topic = f"{topic_prefix}rating-changed"

    def apply(self, events: Sequence[Published]) -> Difference | None:
        """Replay the next position and compare it with what was published of it; return what is wrong."""
        named = events[0].named
        position = named.position
        wrong = _two_causes(events)
        attempts = [] if wrong is not None else self._attempts(named)
        for number, attempt in enumerate(attempts, start=1):
            outcome = self._decide(attempt)
            misses = self._misfit(position, outcome, events)
            if misses is None:
                self._note_choices(position, attempt, outcome, attempts[number:], events)
                self._accept(position, outcome)
                certain = len(attempts) == 1 and len(attempt.parked) <= 1
                self.used.add(self._inputs, attempt, certain=certain)
                return None
            wrong = wrong or misses
        wrong = wrong or self._why_no_attempt(named)
        return Difference(position, f"Position {position} ({named.cause}): {wrong}")

    def _misfit(self, position: int, outcome: Outcome, events: Sequence[Published]) -> str | None:
        return misfit(self.pool.name, position, outcome, events, self._topic_prefix)

    def _note_choices(
        self,
        position: int,
        taken: Attempt,
        outcome: Outcome,
        others: Sequence[Attempt],
        events: Sequence[Published],
    ) -> None:
        """Note what else gives the same events: these do not tell which of the inputs it was."""
        decided = [(other.event.delivery.source, self._decide(other)) for other in others]
        alike = [(source, other) for source, other in decided if self._misfit(position, other, events) is None]
        self.choices.note(position, [source for source, _ in alike])
        event = taken.event.event
        if taken.parked:
            self.choices.note_prs(outcome.match_id, taken.revision, taken.prs)
        elif isinstance(event, MatchAnalyzed):
            prs = [_newest_prs(fitting) for fitting in (outcome, *(other for _, other in alike))]
            self.choices.note_prs(event.match_id, event.revision, prs)

    def _attempts(self, named: Named) -> list[Attempt]:
        cause, settled_by = named.cause, named.details.revision
        if cause.type == "match-finished" and cause.match_id in self.records:
            return []
        candidates = [given for given in self._candidates(named) if agrees(given.event, cause)]
        if cause.type != "match-finished" or not settled_by:
            return [Attempt(given) for given in candidates]
        parked = self._inputs.of("match-analyzed", (cause.match_id, settled_by))
        return [attempt for given in candidates for attempt in ways_to_settle(self.pool.rules, given, parked)]

    def _candidates(self, named: Named) -> list[Input]:
        cause = named.cause
        return self._inputs.of(cause.type, _id_of(named)) if cause.type in SIDES else []

    def _decide(self, attempt: Attempt) -> Outcome:
        state = self._state(attempt.event.event)
        for parked in attempt.parked[:1]:
            decide(self.pool.rules, parked.event, parked.delivery, state)
        return decide(self.pool.rules, attempt.event.event, attempt.event.delivery, state)

    def _state(self, event: Event) -> State:
        """Return a state of all that this event can touch, which may be spoilt."""
        named = _players(event)
        links = {name: link for name in named if (link := self.links.get(name)) is not None}
        everyone = (*named, *(link.account_id for link in links.values()))
        rows = {name: row for name in everyone if (row := self.rows.get(name)) is not None}
        records: dict[str, MatchRecord] = {}
        prizes: dict[PrizeKey, Prize] = {}
        if isinstance(event, MatchFinished | MatchAnalyzed):
            record = self.records.get(event.match_id)
            if record is not None:
                records[event.match_id] = record
        elif isinstance(event, TournamentPrizeAwarded):
            key = event.tournament_id, event.player_id
            if key in self.prizes:
                prizes[key] = self.prizes[key]
        return State(rows, records, {}, self.windows, prizes=prizes, links=links)

    def _accept(self, position: int, outcome: Outcome) -> None:
        self.position = position
        for player_id, row, _ in outcome.rows:
            self.rows[player_id] = row
            self.last_position[player_id] = position
        for player_id, contribution in _contributions(outcome):
            self.contributed[player_id] = self.contributed.get(player_id, 0) + contribution
        if outcome.record is not None:
            record = outcome.record.record
            at = position if outcome.record.replaces is None else record.position
            self.records.keep(outcome.match_id, replace(record, position=at))
        if outcome.prize is not None:
            prize = replace(outcome.prize, position=position)
            self.prizes[prize.tournament_id, prize.player_id] = prize
        if outcome.link is not None:
            link = replace(outcome.link, position=position)
            self.links[link.anonymous_id] = self.links[link.account_id] = link
        self.windows.add(outcome.windows)
        self.changes += len(outcome.rows)

    def _why_no_attempt(self, named: Named) -> str:
        cause, settled_by = named.cause, named.details.revision
        if cause.type not in SIDES:
            return "there is no such kind of cause."
        known = self.records.get(cause.match_id or "")
        if cause.type == "match-finished" and known is not None:
            return f"it must be a match that is new, but it is rated at position {known.position} already."
        if settled_by and cause.type == "match-finished" and self._candidates(named):
            return (
                f"it says that revision {settled_by} settled it, but no accepted match-analyzed input has this "
                "revision and names its players."
            )
        return f"it must come from an accepted input, but none in {self._topic_prefix}{shown_id(cause.type)} is this."


class Used:
    """Which inputs are known to be causes, and what that tells about how far their partitions are answered.

    Where several inputs can be a cause, the one that is taken tells nothing about its partition.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.settled_early = 0
        """Analyses that were parked and settled their match when it came."""
        self.answered: dict[tuple[str, int], int] = {}
        """By topic and partition, the highest offset of an input that is certainly a cause: the only one of its id."""
        self.oldest_ms: int | None = None
        """The oldest timestamp of an input that is certainly a cause, in UTC ms."""
        self.places, self.offsets = array("H"), array("q")
        """Of every position, the number of its input's place, NO_PLACE if that is not certain, and the offset there."""

    def add(self, inputs: Inputs, attempt: Attempt, *, certain: bool) -> None:
        """Take note of the inputs of the next position, which `inputs` then forgets."""
        for parked in attempt.parked[:1]:
            self.settled_early += 1
            self._add(inputs, parked, certain=certain)
        self._add(inputs, attempt.event, certain=certain)
        source = attempt.event.delivery.source
        self.places.append(inputs.number_of(source) if certain else NO_PLACE)
        self.offsets.append(source.offset)

    def _add(self, inputs: Inputs, given: Input, *, certain: bool) -> None:
        kind, source, timestamp_ms = _KINDS[type(given.event)], given.delivery.source, given.delivery.timestamp_ms
        inputs.drop(kind, given)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if not certain:
            return
        place = (source.topic, source.partition)
        if source.offset > self.answered.get(place, -1):
            self.answered[place] = source.offset
        if self.oldest_ms is None or timestamp_ms < self.oldest_ms:
            self.oldest_ms = timestamp_ms


def _two_causes(events: Sequence[Published]) -> str | None:
    first = events[0]
    other = next((event for event in events if event.named.cause != first.named.cause), None)
    if other is None:
        return None
    return f"{first.where()} says so, but {other.where()} says {other.named.cause}: there must be one cause."


def _id_of(named: Named) -> Hashable:
    """Return the ids by which `cause_of` knows the input that an event names."""
    cause = named.cause
    if cause.type == "tournament-prize-awarded":
        return (cause.tournament_id, named.player_id)
    if cause.type == "match-analyzed":
        return (cause.match_id, cause.revision)
    return cause.match_id if cause.type == "match-finished" else cause.anonymous_id


def _players(event: Event) -> tuple[str, ...]:
    if isinstance(event, MatchFinished):
        return event.winner.id, event.loser.id
    if isinstance(event, MatchAnalyzed):
        return event.players[0].id, event.players[1].id
    return (event.player_id,) if isinstance(event, TournamentPrizeAwarded) else (event.anonymous_id, event.account_id)


def _newest_prs(settled: Outcome) -> Prs:
    """Return the PRs that an analysis brought to a match that was rated before."""
    rated = settled.record.record.rated if settled.record is not None else None
    return rated.exchanges[-1].prs if rated is not None else (None, None)


def _contributions(outcome: Outcome) -> Iterator[tuple[str, Rating]]:
    """Yield by how much the contributions of each player grow, by the records rather than by the changes."""
    written = outcome.record
    if written is None or written.record.rated is None:
        for side in outcome.changes.sides if outcome.changes is not None else ():
            yield side.player_id, side.after - side.before
        return
    rated, replaces = written.record.rated, written.replaces
    stood = replaces.rated if replaces is not None else None
    yield rated.winner.player_id, rated.winner.standing - (stood.winner.standing if stood is not None else 0)
    yield rated.loser.player_id, rated.loser.standing - (stood.loser.standing if stood is not None else 0)
