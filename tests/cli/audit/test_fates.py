"""What became of every input, as the topics alone tell."""

import pytest
from msgspec.structs import replace

from tests.cli.audit.season import SEASONS, Season, gammon42, season0
from tests.ratings.ladder import AT, DAY, HOUR, SECOND, analyzed, awarded, finished, linked
from worker.cli.audit.fates import (
    BEFORE_THE_POOL,
    DUPLICATE,
    EXCLUDED,
    IGNORED,
    MAYBE_TOO_LATE,
    NOT_YET,
    PARKED,
    PUSHED_OUT,
    SETTLED_EARLY,
    Fates,
    fates,
)
from worker.cli.audit.run import replay as replayed

MATCH, ANALYSIS, PRIZE, LINK = "match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked"


def judged(season: Season) -> Fates:
    inputs = season.inputs()
    audited = replayed(season.configured, season.published, inputs)
    assert audited.difference is None
    return fates(audited.replay, inputs)


def counts(season: Season) -> dict[tuple[str, str], int]:
    found = judged(season)
    assert found.difference is None
    return dict(found.counts)


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (
            "gammon42",
            {
                (MATCH, "rated"): 5,
                (MATCH, EXCLUDED): 1,
                (MATCH, DUPLICATE): 1,
                (MATCH, "refused: conflict"): 1,
                (PRIZE, "awarded"): 2,
            },
        ),
        (
            "blitzgammon",
            {(MATCH, "rated"): 4, (ANALYSIS, SETTLED_EARLY): 1, (ANALYSIS, "settled"): 2, (ANALYSIS, DUPLICATE): 2},
        ),
        ("nardeon", {(MATCH, "rated"): 4}),
        (
            "season0",
            {
                (MATCH, "rated"): 4,
                (MATCH, "refused: self-match"): 1,
                (LINK, "linked"): 2,
                (LINK, "refused: already-linked"): 1,
            },
        ),
    ],
)
def test_every_input_of_a_season_has_its_fate(pool: str, expected: dict[tuple[str, str], int]) -> None:
    assert counts(SEASONS[pool]()) == expected


def test_what_the_decoder_refuses_is_counted_with_its_reason() -> None:
    season = Season("gammon42")
    season.send(
        finished("gammon42", "m-1", "ann", "ann"),
        finished("gammon42", "m-2", "ann", "bob", cube=3),
        finished("blitzgammon", "m-3", "ann", "bob", length=None),
    )
    season.send(finished("gammon42", "m-4", "ann", "bob"), timestamp=AT + 40 * DAY)
    season.send(replace(linked("anon-1", "ann"), pool="gammon42"))
    assert counts(season) == {
        (MATCH, "refused: self-match"): 1,
        (MATCH, "refused: schema"): 1,
        (MATCH, "refused: too-late"): 1,
        (LINK, "refused: wrong-ruleset"): 1,
    }


def test_repeats_of_what_is_excluded_are_duplicates_or_conflicts() -> None:
    season = Season("gammon42")
    season.send(
        finished("gammon42", "m-1", "ann", "bob", mode="boosted"),
        finished("gammon42", "m-1", "ann", "bob", mode="boosted"),
        finished("gammon42", "m-1", "ann", "bob"),
    )
    assert counts(season) == {(MATCH, EXCLUDED): 1, (MATCH, DUPLICATE): 1, (MATCH, "refused: conflict"): 1}


def test_analyses_have_their_fates_too() -> None:
    season = Season("blitzgammon")
    season.send(
        finished("blitzgammon", "m-1", "ann", "bob"),
        finished("blitzgammon", "m-2", "ann", "bob", mode="casual"),
        analyzed("blitzgammon", "m-1", (9.0, 4.0)),
        analyzed("blitzgammon", "m-1", (9.0, 4.0)),
        analyzed("blitzgammon", "m-1", (9.0, 4.0), 2, players=("ann", "eve")),
        analyzed("blitzgammon", "m-1", (4.0, 9.0), 3, at=AT + 31 * DAY),
        analyzed("blitzgammon", "m-2", (9.0, 4.0)),
        analyzed("blitzgammon", "m-3", (9.0, 4.0)),
    )
    assert counts(season) == {
        (MATCH, "rated"): 1,
        (MATCH, EXCLUDED): 1,
        (ANALYSIS, "settled"): 1,
        (ANALYSIS, DUPLICATE): 1,
        (ANALYSIS, "refused: players-mismatch"): 1,
        (ANALYSIS, "refused: too-late"): 1,
        (ANALYSIS, IGNORED): 1,
        (ANALYSIS, PARKED): 1,
    }


def test_an_analysis_means_nothing_where_there_is_no_rule_for_it() -> None:
    season = Season("nardeon")
    season.send(finished("nardeon", "m-1", "ann", "bob"), analyzed("nardeon", "m-1", (9.0, 4.0)))
    assert counts(season) == {(MATCH, "rated"): 1, (ANALYSIS, IGNORED): 1}


def test_repeated_prizes_are_duplicates_or_conflicts() -> None:
    season = Season("gammon42")
    season.send(awarded("t-1"), awarded("t-1"), awarded("t-1", amount=26), awarded("t-1", place=2))
    assert counts(season) == {(PRIZE, "awarded"): 1, (PRIZE, DUPLICATE): 1, (PRIZE, "refused: conflict"): 2}


def test_the_same_link_again_is_a_duplicate() -> None:
    season = season0()
    season.send(linked("anon-1", "ann", at=AT + HOUR))
    assert counts(season)[LINK, DUPLICATE] == 1


def test_what_is_last_in_its_partition_is_not_answered_yet() -> None:
    season = gammon42()
    season.give(finished("gammon42", "m-7", "ann", "bob", at=AT + 5 * HOUR))
    season.give(finished("gammon42", "m-8", "ann", "bob", at=AT + HOUR), partition=1)
    season.give(awarded("t-9", at=AT + 5 * HOUR))
    found = counts(season)
    assert (found[MATCH, NOT_YET], found[PRIZE, NOT_YET]) == (2, 1)


def test_what_nobody_answered_though_later_ones_are_is_a_difference() -> None:
    season = gammon42()
    season.give(finished("gammon42", "m-7", "ann", "bob", at=AT + 5 * HOUR))
    season.send(finished("gammon42", "m-8", "ann", "bob", at=AT + 6 * HOUR))
    difference = judged(season).difference
    assert difference is not None
    assert difference.sentence == (
        "match-finished/0 offset 8 (m-7) must be answered, for later inputs of its partition are, but no change names "
        "it, and no rule says why."
    )


def test_so_are_an_analysis_a_prize_and_a_link() -> None:
    blitz = Season("blitzgammon")
    blitz.send(
        finished("blitzgammon", "m-1", "ann", "bob"), finished("blitzgammon", "m-2", "ann", "bob", at=AT + SECOND)
    )
    blitz.give(analyzed("blitzgammon", "m-1", (9.0, 4.0)))
    blitz.send(analyzed("blitzgammon", "m-2", (9.0, 4.0)))
    prizes = gammon42()
    prizes.give(awarded("t-9", at=AT + 5 * HOUR))
    prizes.send(awarded("t-10", at=AT + 6 * HOUR))
    links = season0()
    links.give(linked("anon-9", "zed", at=AT + 5 * HOUR))
    links.send(linked("anon-10", "yan", at=AT + 6 * HOUR))
    told = [judged(season).difference for season in (blitz, prizes, links)]
    assert [difference and difference.sentence.split(" must")[0] for difference in told] == [
        "match-analyzed/0 offset 0 (m-1)",
        "tournament-prize-awarded/0 offset 2 (t-9)",
        "identity-linked/0 offset 3 (anon-9)",
    ]


def test_an_analysis_that_came_after_those_of_too_many_pairs_may_be_pushed_out() -> None:
    season = Season("blitzgammon")
    season.send(finished("blitzgammon", "m-0", "ann", "bob", at=AT - HOUR))
    strangers = [("eve", "dan"), ("eve", "cem"), ("eve", "fay"), ("eve", "gus")]
    season.send(*(analyzed("blitzgammon", "m-1", (9.0, 4.0), players=pair) for pair in strangers))
    season.send(analyzed("blitzgammon", "m-1", (9.0, 4.0)))
    season.send(finished("blitzgammon", "m-1", "ann", "bob"), analyzed("blitzgammon", "m-0", (9.0, 4.0)))
    found = counts(season)
    assert (found[ANALYSIS, PUSHED_OUT], found[ANALYSIS, "refused: players-mismatch"]) == (1, 4)


def test_one_of_two_deliveries_proves_nothing_about_its_partition() -> None:
    season = gammon42()
    season.give(finished("gammon42", "m-7", "ann", "bob", at=AT + 5 * HOUR), partition=1)
    again = finished("gammon42", "m-8", "ann", "bob", at=AT + 6 * HOUR)
    season.give(again, partition=1)
    season.send(again, partition=2)
    assert counts(season)[MATCH, NOT_YET] == 1


def test_what_is_older_than_all_answers_came_before_the_pool() -> None:
    season = Season("gammon42")
    season.give(finished("gammon42", "m-0", "ann", "bob", at=AT - HOUR))
    season.send(finished("gammon42", "m-1", "ann", "bob"))
    assert counts(season)[MATCH, BEFORE_THE_POOL] == 1


def test_what_was_published_again_for_a_pool_that_was_added_does_not_make_the_pool_older() -> None:
    season = Season("gammon42")
    again = finished("gammon42", "m-1", "ann", "bob")
    season.give(again)
    season.give(finished("gammon42", "m-2", "ann", "bob", at=AT + HOUR))
    season.send(again, partition=1, timestamp=AT + 5 * HOUR)
    season.send(finished("gammon42", "m-3", "ann", "bob", at=AT + 6 * HOUR))
    assert counts(season)[MATCH, BEFORE_THE_POOL] == 1


def test_one_of_two_deliveries_proves_nothing_about_the_horizon() -> None:
    season = Season("gammon42")
    early = finished("gammon42", "m-1", "ann", "bob")
    season.send(finished("gammon42", "m-0", "ann", "bob", at=AT - HOUR), early, partition=1)
    season.send(finished("gammon42", "m-2", "ann", "bob", at=AT + 40 * DAY), partition=1)
    season.give(finished("gammon42", "m-3", "ann", "bob", at=AT + DAY))
    season.give(early)
    season.send(finished("gammon42", "m-4", "ann", "bob", at=AT + 41 * DAY))
    assert counts(season)[MATCH, MAYBE_TOO_LATE] == 1


def test_what_the_horizon_may_have_passed_by_then_may_be_too_late() -> None:
    season = Season("gammon42")
    season.send(finished("gammon42", "m-1", "ann", "bob"))
    season.send(finished("gammon42", "m-2", "ann", "bob", at=AT + 32 * DAY), partition=1)
    season.give(finished("gammon42", "m-3", "ann", "bob", at=AT + DAY))
    season.send(finished("gammon42", "m-4", "ann", "bob", at=AT + 33 * DAY))
    assert counts(season)[MATCH, MAYBE_TOO_LATE] == 1


def test_what_the_horizon_passed_only_afterwards_is_not_excused() -> None:
    season = Season("gammon42")
    season.send(finished("gammon42", "m-1", "ann", "bob"), finished("gammon42", "m-2", "ann", "bob", at=AT + HOUR))
    season.send(finished("gammon42", "n-1", "ann", "bob", at=AT + HOUR), partition=1)
    season.give(finished("gammon42", "m-3", "ann", "bob", at=AT + 2 * HOUR))
    season.send(finished("gammon42", "m-4", "ann", "bob", at=AT + 3 * HOUR))
    season.send(finished("gammon42", "n-2", "ann", "bob", at=AT + 40 * DAY), partition=1)
    difference = judged(season).difference
    assert difference is not None
    assert "(m-3)" in difference.sentence
