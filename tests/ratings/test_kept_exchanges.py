"""What a match's record keeps for whoever asks later: its PRs, who it was late for, what analyses did to it."""

import pytest

from tests.ratings.ladder import AT, HOUR, SECOND, Ladder
from worker.ratings.analysis import EXCHANGES
from worker.ratings.rows import Exchange, Exchanged, RatedRecord
from worker.tables.packing import pack_record, unpack_record

WORSE, BETTER = 9.0, 4.0


def kept(ladder, match_id="m-1") -> RatedRecord:
    """Return what is kept of a rated match, as it comes back from the tables."""
    record = ladder.state.records[match_id]
    back = unpack_record(b"- 0 " + pack_record(record))
    assert back == record
    return back.rated


class TestPrs:
    def test_that_came_with_the_match(self):
        ladder = Ladder()
        ladder.match(prs=(WORSE, BETTER))
        assert kept(ladder).prs == (WORSE, BETTER)

    def test_of_the_analysis_that_was_there_before_it_are_the_winners_first(self):
        ladder = Ladder()
        ladder.analysis(BETTER, None, players=("bob", "ann"))
        ladder.match(prs=(1.0, 2.0))
        assert kept(ladder).prs == (None, BETTER)

    @pytest.mark.parametrize("prs", [(WORSE, None), (None, None)])
    def test_are_none_while_an_analysis_is_awaited(self, prs):
        ladder = Ladder()
        ladder.match(prs=prs)
        assert kept(ladder).prs is None


class TestAnExchange:
    def test_has_both_ratings_of_that_moment(self):
        ladder = Ladder()
        ladder.match()
        ladder.match("m-2", "cem", "ann", at=AT + SECOND)
        ann = ladder.rating("ann")
        ladder.analysis(WORSE, BETTER, at=AT + HOUR)
        assert kept(ladder).exchanges == (
            Exchange(1, True, (WORSE, BETTER), AT + HOUR, Exchanged(ann, ann - 11, 0), Exchanged(1477, 1488, 0)),
        )
        assert kept(ladder).prs is None

    def test_tells_what_a_floor_swallowed(self):
        ladder = Ladder(starting_rating=100)
        ladder.match(prs=(WORSE, BETTER))
        ladder.analysis(BETTER, WORSE)
        assert kept(ladder).exchanges[0].loser == Exchanged(100, 100, 0)
        ladder.match("m-2", "cem", "ann", at=AT + SECOND)
        ladder.match("m-3", "cem", "ann", at=AT + 2 * SECOND)
        ann = ladder.rating("ann")
        ladder.analysis(WORSE, BETTER, 2)
        moved = kept(ladder).exchanges[1].winner
        assert (moved.before, moved.after) == (ann, ladder.rating("ann")) == (ann, 100)
        assert moved.floored_by == ladder.values()[-2]["details"]["floored_by"] > 0

    def test_is_not_made_by_a_duplicate(self):
        ladder = Ladder()
        ladder.match()
        ladder.analysis(WORSE, BETTER, 2)
        ladder.analysis(BETTER, WORSE, 2)
        assert [exchange.revision for exchange in kept(ladder).exchanges] == [2]

    def test_is_forgotten_where_there_are_too_many_after_it(self):
        ladder = Ladder()
        ladder.match()
        for revision in range(1, EXCHANGES + 4):
            ladder.analysis(WORSE, BETTER, revision)
        rated = kept(ladder)
        assert [exchange.revision for exchange in rated.exchanges] == list(range(4, EXCHANGES + 4))
        assert rated.exchanges_left_out == 3


@pytest.mark.parametrize("ruleset", ["gammon42", "blitzgammon", "nardeon", "season0"])
def test_whom_a_match_was_late_for_is_kept(ruleset):
    ladder = Ladder(ruleset)
    ladder.match("m-2", "ann", "cem", at=AT + SECOND)
    ladder.match("m-1", "ann", "bob", at=AT)
    rated = kept(ladder)
    assert (rated.winner.late, rated.loser.late) == (True, False)
