"""What became of every input of a pool, as far as its topics tell: nothing may be left without an answer."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, NamedTuple

from worker.cli.audit.difference import NOWHERE, Difference
from worker.cli.audit.horizon import Horizon
from worker.cli.audit.inputs import Input, Inputs
from worker.cli.audit.published import place
from worker.cli.audit.replay import Replay
from worker.cli.words import shown_id
from worker.ratings.analysis import PARKED_PAIRS
from worker.ratings.delivery import Source
from worker.ratings.events import IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import DAY_MS
from worker.ratings.match import content
from worker.rules.match import MatchFinished

CHANGED: Final[Mapping[str, str]] = {
    "match-finished": "rated",
    "match-analyzed": "settled",
    "tournament-prize-awarded": "awarded",
    "identity-linked": "linked",
}
"""What an input that is a cause did."""

SETTLED_EARLY: Final = "settled its match when that came"
EXCLUDED, DUPLICATE, IGNORED, PARKED = "excluded", "duplicate", "ignored", "parked"
UNKNOWN_POOL: Final = "refused: unknown-pool"
"""It came while the pool was out of the pools file."""
CONFLICT, SELF_MATCH, MISMATCH, TOO_LATE, ALREADY_LINKED = (
    "refused: conflict",
    "refused: self-match",
    "refused: players-mismatch",
    "refused: too-late",
    "refused: already-linked",
)
NOT_YET = "not yet answered"
"""Nothing after it in its partition is certainly answered."""
BEFORE_THE_POOL = "from before the pool's first answer"
"""Older than whatever was answered: a pool that is added later has not seen it."""
PUSHED_OUT = "pushed out, as it seems"
"""More pairs of players were named for its match than are parked."""
MAYBE_TOO_LATE = "too late, as it seems"
"""The pool may have moved its horizon past it, before it came."""
_UNANSWERED = "unanswered"

Fate = tuple[str, str]
"""(kind of input, what became of it)."""


class Fates(NamedTuple):
    """How many inputs had each fate, and the first one that should have an answer and has none."""

    counts: Counter[Fate]
    difference: Difference | None


def fates(replay: Replay, inputs: Inputs, unknown_pool: Container[Source] = ()) -> Fates:
    """Judge every input by what was replayed; `unknown_pool` has those that were answered so."""
    return _Judge(replay, inputs, unknown_pool).judge()


class _Judge:
    def __init__(self, replay: Replay, inputs: Inputs, unknown_pool: Container[Source]) -> None:
        self._replay = replay
        self._unknown_pool = unknown_pool
        self._rules = replay.pool.rules
        self._inputs = inputs
        self._horizon = Horizon(replay.used, inputs, self._rules.retention_days * DAY_MS)

    def judge(self) -> Fates:
        used = self._replay.used
        counts: Counter[Fate] = Counter({(kind, CHANGED[kind]): count for kind, count in used.counts.items()})
        counts["match-analyzed", CHANGED["match-analyzed"]] -= used.settled_early
        counts["match-analyzed", SETTLED_EARLY] += used.settled_early
        for (kind, reason), count in self._inputs.refused.items():
            counts[kind, f"refused: {reason}"] += count
        overdue: list[Input] = []
        for kind, of_kind in self._of_kinds().items():
            for group in self._inputs.left(kind):
                for given, fate in of_kind(group):
                    known = self._unanswered(given) if fate is _UNANSWERED else fate
                    counts[kind, known] += 1
                    if known is _UNANSWERED:
                        overdue.append(given)
        first = min(overdue, key=lambda given: (given.delivery.timestamp_ms, str(given.delivery.source)), default=None)
        return Fates(+counts, None if first is None else _never_answered(first))

    def _of_kinds(self) -> dict[str, Callable[[list[Input]], Iterator[tuple[Input, str]]]]:
        return {
            "match-finished": self._matches,
            "match-analyzed": self._analyses,
            "tournament-prize-awarded": self._prizes,
            "identity-linked": self._links,
        }

    def _matches(self, group: list[Input]) -> Iterator[tuple[Input, str]]:
        """Judge the deliveries of one match_id that are no cause."""
        matches = {given: given.event for given in group if isinstance(given.event, MatchFinished)}
        some = next(iter(matches.values()))
        record = self._replay.records.get(some.match_id)
        answered = None if record is None else record.content
        excluded = [given for given in group if self._rules.exclusion(matches[given]) is not None]
        if answered is None and excluded:
            first = min(excluded, key=lambda given: given.delivery.timestamp_ms)
            yield first, EXCLUDED
            answered = content(matches.pop(first))
        for given, match in matches.items():
            if answered is not None:
                yield given, DUPLICATE if content(match) == answered else CONFLICT
            else:
                accounts = {self._account_of(match.winner.id), self._account_of(match.loser.id)}
                yield given, SELF_MATCH if len(accounts) == 1 else _UNANSWERED

    def _account_of(self, player_id: str) -> str:
        link = self._replay.links.get(player_id)
        return player_id if link is None else link.account_id

    def _analyses(self, group: list[Input]) -> Iterator[tuple[Input, str]]:
        for given in group:
            if isinstance(given.event, MatchAnalyzed):
                yield given, self._analysis(given.event, given.delivery.timestamp_ms)

    def _analysis(self, analysis: MatchAnalyzed, timestamp_ms: int) -> str:
        if self._rules.pr_rule is None:
            return IGNORED
        record = self._replay.records.get(analysis.match_id)
        if record is None or record.rated is None:
            matches = [given.event for given in self._inputs.of("match-finished", analysis.match_id)]
            is_excluded = any(isinstance(event, MatchFinished) and self._rules.exclusion(event) for event in matches)
            return IGNORED if is_excluded else PARKED
        if {player.id for player in analysis.players} != {record.content.winner.id, record.content.loser.id}:
            return MISMATCH
        if timestamp_ms > record.rated.settles_by_ms:
            return TOO_LATE
        stands = record.rated.revision
        if stands is not None and analysis.revision <= stands:
            return DUPLICATE
        return _UNANSWERED

    def _crowded(self, match_id: str) -> bool:
        """Return whether analyses may have been pushed out, because so many pairs of players were named."""
        named = {
            frozenset(player.id for player in given.event.players)
            for group in self._inputs.left("match-analyzed")
            for given in group
            if isinstance(given.event, MatchAnalyzed) and given.event.match_id == match_id
        }
        return len(named) > PARKED_PAIRS

    def _prizes(self, group: list[Input]) -> Iterator[tuple[Input, str]]:
        for given in group:
            event = given.event
            if isinstance(event, TournamentPrizeAwarded):
                paid = self._replay.prizes.get((event.tournament_id, event.player_id))
                same = paid is not None and (paid.place, paid.amount) == (event.place, event.amount)
                yield given, _UNANSWERED if paid is None else DUPLICATE if same else CONFLICT

    def _links(self, group: list[Input]) -> Iterator[tuple[Input, str]]:
        for given in group:
            event = given.event
            if isinstance(event, IdentityLinked):
                links = self._replay.links
                link = links.get(event.anonymous_id) or links.get(event.account_id)
                same = link is not None and (link.anonymous_id, link.account_id) == (
                    event.anonymous_id,
                    event.account_id,
                )
                yield given, _UNANSWERED if link is None else DUPLICATE if same else ALREADY_LINKED

    def _unanswered(self, given: Input) -> str:
        """Return why an input may rightly have no answer, _UNANSWERED if there is no reason."""
        used, source = self._replay.used, given.delivery.source
        if source in self._unknown_pool:
            return UNKNOWN_POOL
        if source.offset > used.answered.get((source.topic, source.partition), -1):
            return NOT_YET
        if used.oldest_ms is not None and given.delivery.timestamp_ms < used.oldest_ms:
            return BEFORE_THE_POOL
        if self._horizon.may_be_past(given):
            return MAYBE_TOO_LATE
        is_lost = isinstance(given.event, MatchAnalyzed) and self._crowded(given.event.match_id)
        return PUSHED_OUT if is_lost else _UNANSWERED


def _never_answered(given: Input) -> Difference:
    event, source = given.event, given.delivery.source
    identifier = (
        event.match_id
        if isinstance(event, MatchFinished | MatchAnalyzed)
        else event.tournament_id
        if isinstance(event, TournamentPrizeAwarded)
        else event.anonymous_id
    )
    return Difference(
        NOWHERE,
        f"{place(source.topic, source.partition, source.offset)} ({shown_id(identifier)}) must be answered, for later "
        "inputs of its partition are, but no change names it, and no rule says why.",
    )
