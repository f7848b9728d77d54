"""The decided cases of halving after the match, through everything that happens to an event."""

import pytest
from msgspec.structs import replace

from tests.ratings.ladder import AT, SECOND, Ladder
from tests.rules.examples import rows

WORSE, BETTER = 9.0, 4.0


class TestMatchesInBetween:
    def test_stand_as_they_were_rated(self):
        [row] = [row for row in rows("decided") if row["id"] == "d-024"]
        ladder = Ladder()
        ladder.match("seed", "C", "D")
        ladder.state.rows["C"] = replace(ladder.state.rows["C"], rating=row["inputs"]["m2"]["ratings"][1])
        ladder.match("m1", "A", "B", length=row["inputs"]["m1"]["match_length"])
        ladder.match("m2", "A", "C", length=row["inputs"]["m2"]["match_length"], at=AT + SECOND)
        assert {name: ladder.rating(name) for name in "AC"} == row["expected"]["after_m2"]
        ladder.analysis(WORSE, BETTER, match_id="m1", players=("A", "B"))
        changes = {event["player_id"]: event["change"] for event in ladder.values()[-2:]}
        assert changes == row["expected"]["compensation"]
        assert {name: ladder.rating(name) for name in "ABC"} == row["expected"]["final_compensating"]


@pytest.mark.parametrize(
    "row",
    [row for row in rows("decided") if "compensation" in row["expected"] and "full" in row["expected"]],
    ids=lambda row: row["id"],
)
class TestLateHalving:
    def test_moves_both_to_what_halving_at_once_would_have_given(self, row):
        late, at_once = _seeded(row), _seeded(row)
        length, expected = row["inputs"]["match_length"], row["expected"]
        late.match(length=length)
        assert late.ratings() == _new(expected["full"])
        late.analysis(WORSE, BETTER)
        compensation = [event["change"] for event in late.values()[-2:]]
        assert compensation == [expected["compensation"]["winner"], expected["compensation"]["loser"]]
        at_once.match(length=length, prs=(WORSE, BETTER))
        assert late.ratings() == at_once.ratings() == _new(expected["halved"])


def _seeded(row):
    ladder = Ladder()
    template = Ladder()
    template.match()
    for player_id, side in (("ann", "winner"), ("bob", "loser")):
        ladder.state.rows[player_id] = replace(template.state.rows[player_id], rating=row["inputs"][side])
    return ladder


def _new(expected):
    return {"ann": expected["winner_new"], "bob": expected["loser_new"]}
