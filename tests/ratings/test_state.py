from hypothesis import given
from hypothesis import strategies as st

from tests.ratings.ladder import AT, Ladder
from worker.ratings.outcome import Kind, Outcome
from worker.ratings.rows import WindowEntry
from worker.ratings.state import State

WINDOW = 10
GAMES = st.lists(st.tuples(st.integers(0, 30), st.text(max_size=2)), max_size=30, unique=True)


def counted(games, at, match_id):
    return sum((at - WINDOW, b"") <= (when, name.encode()) < (at, match_id.encode()) for when, name in games)


@given(loaded=GAMES, added=GAMES, at=st.integers(0, 40), match_id=st.text(max_size=2))
def test_games_of_this_batch_are_counted_on_top_of_those_loaded(loaded, added, at, match_id):
    state = State({}, {}, {}, {("ann", at, match_id): counted(loaded, at, match_id)})
    for when, name in added:
        windows = (WindowEntry("ann", when, name), WindowEntry("bob", when, name))
        state.apply(Outcome(Kind.RATED, name, ("ann", "bob"), when, windows=windows))
    expected = counted(loaded, at, match_id) + counted(added, at, match_id)
    assert state.games_in_window("ann", at, match_id, WINDOW) == expected


def test_later_events_see_rows_records_and_what_is_parked():
    ladder = Ladder()
    parked = ladder.analysis(9.0, 4.0)
    assert ladder.state.parked == {"m-1": parked.parked.parked}
    rated = ladder.match()
    assert ladder.state.parked == {}
    assert ladder.state.records == {"m-1": rated.record.record}
    assert ladder.state.rows == {player_id: row for player_id, row, _ in rated.rows}


def test_what_writes_nothing_leaves_everything_as_it_is():
    ladder = Ladder()
    ladder.match()
    before = dict(ladder.state.rows), dict(ladder.state.records)
    assert ladder.match().kind is Kind.DUPLICATE
    assert ladder.match(at=AT + 1).kind is Kind.REFUSED
    assert (ladder.state.rows, ladder.state.records) == before


def test_each_row_names_what_it_was_decided_on_and_the_cause_that_wrote_it():
    ladder = Ladder()
    first, second = ladder.match("m-1"), ladder.match("m-2")
    assert [replaces for _, _, replaces in first.rows] == [None, None]
    assert [replaces for _, _, replaces in second.rows] == [row for _, row, _ in first.rows]
    assert {row.last_source for _, row, _ in second.rows} == {"match-finished/0/1"}
