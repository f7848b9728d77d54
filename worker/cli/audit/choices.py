"""Where several inputs give what was published: on which of them the tables may rest. Nothing published tells."""

from collections.abc import Iterable

from msgspec.structs import replace

from worker.cli.audit.inputs import Inputs
from worker.ratings.delivery import Source
from worker.ratings.events import Event
from worker.ratings.match import content
from worker.ratings.rows import Exchange, MatchRecord, Prs, RatedRecord
from worker.rules.match import MatchFinished


class Choices:
    """What a cause may have come of beside the inputs that a replay took, where there is anything."""

    def __init__(self) -> None:
        self._others: dict[int, frozenset[str]] = {}
        self._prs: dict[tuple[str, int], frozenset[Prs]] = {}

    def note(self, position: int, others: Iterable[Source]) -> None:
        """Note the further inputs that give what was published at a position."""
        if found := frozenset(map(str, others)):
            self._others[position] = found

    def note_prs(self, match_id: str, revision: int, prs: Iterable[Prs]) -> None:
        """Note the PRs of all analyses of a revision that give what was published of it."""
        found = frozenset(prs)
        if len(found) > 1:
            self._prs[match_id, revision] = found

    def alike(self, position: int, taken: Source | str, found: Source | str) -> bool:
        """Return whether the cause at a position may rest on the input at `found`, where `taken` was taken."""
        return str(found) == str(taken) or str(found) in self._others.get(position, ())

    def as_taken(self, found: MatchRecord, kept: MatchRecord, inputs: Inputs) -> MatchRecord:
        """Return a match's record as it would be on the inputs that were taken, if it rests on others that fit as well.

        What rests on no input stays as it is, and so differs from what is kept.
        """
        match_id = kept.content.match_id
        if found.rated is None or kept.rated is None:
            return found
        rated = replace(
            found.rated,
            prs=self._as_taken(match_id, _settled_by(found.rated), found.rated.prs, kept.rated.prs),
            exchanges=self._exchanges(match_id, found.rated, kept.rated),
        )
        found = replace(found, rated=rated)
        if found.source == kept.source or not self.alike(kept.position, kept.source, found.source):
            return found
        # What is no cause is still among the inputs.
        sent = next(given for given in inputs.of("match-finished", match_id) if given.delivery.source == found.source)
        if not _is_of(sent.event, found):
            return found
        inline = _settled_by(rated) == 0
        return replace(
            found,
            content=kept.content,
            source=kept.source,
            rated=replace(rated, prs=kept.rated.prs) if inline else rated,
        )

    def _exchanges(self, match_id: str, found: RatedRecord, kept: RatedRecord) -> tuple[Exchange, ...]:
        if len(found.exchanges) != len(kept.exchanges):
            return found.exchanges
        return tuple(
            replace(there, prs=self._as_taken(match_id, there.revision, there.prs, taken.prs))
            for there, taken in zip(found.exchanges, kept.exchanges, strict=True)
        )

    def _as_taken(self, match_id: str, revision: int | None, found: Prs | None, taken: Prs | None) -> Prs | None:
        return taken if revision and found in self._prs.get((match_id, revision), ()) else found


def _settled_by(rated: RatedRecord) -> int | None:
    """Return the revision that settled a match when it came, as its terms say: 0 is the match's own PRs."""
    revision = rated.winner.terms.get("revision")
    return revision if isinstance(revision, int) else None


def _is_of(event: Event, found: MatchRecord) -> bool:
    """Return whether a record says what a delivery says: its content, and its PRs if these settled the match."""
    if not isinstance(event, MatchFinished) or content(event) != found.content or found.rated is None:
        return False
    return _settled_by(found.rated) != 0 or found.rated.prs == (event.winner.pr, event.loser.pr)
