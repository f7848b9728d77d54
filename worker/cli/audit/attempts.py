"""The ways in which a published cause can have come about from the inputs that there are."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from worker.cli.audit.inputs import Input
from worker.cli.audit.published import Cause
from worker.ratings.analysis import Settlement, resolve_parked
from worker.ratings.events import Event, IdentityLinked, MatchAnalyzed, TournamentPrizeAwarded
from worker.ratings.instants import DAY_MS
from worker.ratings.rows import Parked, ParkedAnalysis, Prs
from worker.rules.match import MatchFinished
from worker.rules.ruleset import Ruleset


class Attempt(Struct, frozen=True, gc=False):
    """One way in which a cause can have come about.

    `parked` are analyses of one revision of which any can have waited for the match, for they settle it alike; `prs`
    are all the PRs that they found.
    """

    event: Input
    parked: tuple[Input, ...] = ()
    revision: int = 0
    prs: frozenset[Prs] = frozenset()


def agrees(event: Event, cause: Cause) -> bool:
    """Return whether an input of the cause's id has everything else that the cause names too."""
    if isinstance(event, TournamentPrizeAwarded):
        return event.place == cause.place
    return not isinstance(event, IdentityLinked) or event.account_id == cause.account_id


def ways_to_settle(rules: Ruleset, given: Input, analyses: Sequence[Input]) -> Iterator[Attempt]:
    """Yield the ways in which analyses of one revision can have settled a match when it came.

    They are few however many analyses there are: what tells two of them apart is only whether they halve.
    """
    ways: dict[tuple[int | None, bool], list[tuple[Input, Settlement]]] = {}
    for analysis in analyses:
        settlement = _settlement(rules, given.event, analysis)
        if settlement is not None:
            ways.setdefault((settlement.revision, settlement.halved), []).append((analysis, settlement))
    for (revision, _), alike in ways.items():
        prs = frozenset(settlement.prs for _, settlement in alike if settlement.prs is not None)
        yield Attempt(given, tuple(analysis for analysis, _ in alike), revision or 0, prs)


def _settlement(rules: Ruleset, match: Event, analysis: Input) -> Settlement | None:
    """Return how a match is settled if this analysis waits for it, None if it is of other players."""
    event = analysis.event
    if not isinstance(match, MatchFinished) or not isinstance(event, MatchAnalyzed):
        return None
    parked = ParkedAnalysis(event.players, event.revision, event.analyzed_at_ms, analysis.delivery)
    if parked.pair() != {match.winner.id, match.loser.id}:
        return None
    return resolve_parked(rules, match, Parked("", (parked,)), match.finished_at_ms + rules.retention_days * DAY_MS)
