"""What must hold whatever comes in whatever order."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.ratings.ladder import AT, HOUR, Ladder, analyzed, finished
from worker.ratings.outcome import Kind
from worker.rules.match import MatchFinished

PRS = st.one_of(st.none(), st.sampled_from([0.0, 4.0, 4.5, 1e-7]))
RATINGS = st.integers(100, 2600)
ANALYSES = st.lists(st.tuples(st.integers(1, 5), PRS, PRS), min_size=1, max_size=6, unique_by=lambda one: one[0])


def ladder_with(winner, loser):
    template, ladder = Ladder(), Ladder()
    template.match("before")
    for player_id, rating in (("ann", winner), ("bob", loser)):
        ladder.state.rows[player_id] = replace(template.state.rows[player_id], rating=rating)
    return ladder


@given(RATINGS, RATINGS, st.integers(1, 99), ANALYSES, st.data())
def test_match_and_analyses_in_any_order_give_the_same_ratings(winner, loser, length, analyses, data):
    match = finished("blitzgammon", "m-1", "ann", "bob", length=length)
    events = [match, *(analyzed("blitzgammon", "m-1", (one, other), revision) for revision, one, other in analyses)]
    straight, shuffled = ladder_with(winner, loser), ladder_with(winner, loser)
    for event in sorted(events, key=lambda event: getattr(event, "revision", 0)):
        assert straight.send(event).kind in {Kind.RATED, Kind.SETTLED}
    for event in data.draw(st.permutations(events)):
        shuffled.send(event)
    _, winner_pr, loser_pr = max(analyses, key=lambda one: one[0])
    at_once = ladder_with(winner, loser)
    at_once.send(replace(match, winner=replace(match.winner, pr=winner_pr), loser=replace(match.loser, pr=loser_pr)))
    assert straight.ratings() == shuffled.ratings() == at_once.ratings()
    assert shuffled.state.records["m-1"].rated.revision == max(revision for revision, *_ in analyses)


IDS = st.sampled_from(["ann", "bob", "cem", "dee"])
MATCH_IDS = st.sampled_from([f"m-{number}" for number in range(6)])


@st.composite
def events(draw):
    first, second = draw(st.permutations(["ann", "bob", "cem", "dee"]))[:2]
    match_id, at = draw(MATCH_IDS), AT + draw(st.integers(-3, 3)) * HOUR
    if draw(st.booleans()):
        mode = draw(st.sampled_from(["rating", "rating", "rating", "casual"]))
        prs = (draw(PRS), draw(PRS))
        return finished(
            "blitzgammon", match_id, first, second, at=at, mode=mode, prs=prs, length=draw(st.integers(1, 9))
        )
    return analyzed(
        "blitzgammon", match_id, (draw(PRS), draw(PRS)), draw(st.integers(1, 4)), players=(first, second), at=at
    )


@given(st.lists(events(), max_size=60), st.sampled_from([100, 104, 1500]))
def test_chains_are_never_broken_and_contributions_are_the_sums_of_changes(sent, starting_rating):
    ladder = Ladder(starting_rating=starting_rating)
    answers = [ladder.send(event) for event in sent]
    seqs, ratings = defaultdict(int), defaultdict(lambda: starting_rating)
    games, moved, positions = defaultdict(int), defaultdict(int), []
    for event in ladder.values():
        player_id, details = event["player_id"], event["details"]
        assert event["before"] + event["change"] == event["after"] >= 100
        assert (event["seq"], event["before"]) == (seqs[player_id] + 1, ratings[player_id])
        seqs[player_id], ratings[player_id] = event["seq"], event["after"]
        games[player_id] += event["cause"]["type"] == "match-finished"
        assert event["rated_games"] == games[player_id]
        assert details["floored_by"] >= 0
        moved[event["cause"]["match_id"], player_id] += event["change"]
        positions.append(event["position"])
    assert positions == [position for position in range(1, len(positions) // 2 + 1) for _ in (0, 1)]
    assert ladder.ratings() == dict(ratings)
    for match_id, record in ladder.state.records.items():
        for side in (record.rated.winner, record.rated.loser) if record.rated else ():
            assert side.standing == moved[match_id, side.player_id]
    event_ids = [event["event_id"] for event in ladder.values()]
    assert len(set(event_ids)) == len(event_ids)
    _every_match_is_answered(sent, answers)


def _every_match_is_answered(sent, answers):
    """Two changes, one exclusion or one letter for each distinct content of a match, and nothing for a repetition."""
    for event, answer in zip(sent, answers, strict=True):
        if isinstance(event, MatchFinished):
            assert answer.kind in {Kind.RATED, Kind.EXCLUDED, Kind.DUPLICATE, Kind.REFUSED}
            assert (answer.changes is not None) == (answer.kind is Kind.RATED)
            assert (answer.excluded_reason is not None) == (answer.kind is Kind.EXCLUDED)
