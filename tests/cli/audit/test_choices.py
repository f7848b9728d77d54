"""Where several inputs give what was published, the tables may rest on any of them, and on nothing else."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cli.audit.held import Held, compared, rewritten
from tests.cli.audit.season import Season
from tests.ratings.ladder import AT, HOUR, analyzed, awarded, finished, linked
from worker.cli.audit.attempts import ways_to_settle
from worker.cli.audit.fates import fates
from worker.cli.audit.inputs import Input
from worker.ratings.delivery import Delivery, Source
from worker.ratings.events import Event
from worker.ratings.rows import MatchRecord
from worker.rules.match import Player

WORSE, AS_BAD, BETTER = (9.0, 4.0), (8.0, 4.0), (4.0, 9.0)
"""PRs of ann and bob; the first two halve what ann won."""
COUNTS, COMES_TOO = 2, 1
"""Partitions: what is sent to the first is rated, though what is in the second comes before it by its coordinates."""


def both_came(season: Season, counts: Event, comes_too: Event) -> None:
    """Publish two inputs of which only one counts; the other one would have given the same events."""
    season.send(counts, partition=COUNTS)
    season.send(comes_too, partition=COMES_TOO)


def parked() -> Season:
    season = Season("blitzgammon")
    both_came(season, analyzed("blitzgammon", "m-1", WORSE), analyzed("blitzgammon", "m-1", AS_BAD))
    season.send(finished("blitzgammon", "m-1", "ann", "bob"))
    return season


def parked_at_other_times() -> Season:
    season = Season("blitzgammon")
    later = analyzed("blitzgammon", "m-1", AS_BAD, at=AT + 2 * HOUR)
    both_came(season, analyzed("blitzgammon", "m-1", WORSE), later)
    season.send(finished("blitzgammon", "m-1", "ann", "bob"))
    return season


def awaited() -> Season:
    season = Season("blitzgammon")
    season.send(finished("blitzgammon", "m-1", "ann", "bob"))
    both_came(season, analyzed("blitzgammon", "m-1", WORSE), analyzed("blitzgammon", "m-1", AS_BAD))
    return season


def revised_often() -> Season:
    """Return a match whose analyses each came twice, more of them than its record keeps."""
    season = parked()
    for revision in range(2, 14):
        prs = (WORSE, AS_BAD) if revision % 2 else (BETTER, (4.0, 8.0))
        one, other = (analyzed("blitzgammon", "m-1", each, revision) for each in prs)
        both_came(season, one, other)
    return season


def settled_inline() -> Season:
    season = Season("blitzgammon")
    one, other = (finished("blitzgammon", "m-1", "ann", "bob", prs=prs) for prs in (WORSE, AS_BAD))
    both_came(season, one, other)
    return season


def told_apart_by_what_counts_for_nothing() -> Season:
    season = Season("blitzgammon")
    one, other = (
        finished("blitzgammon", "m-1", "ann", "bob", win_type=how, prs=prs)
        for how, prs in (("single", WORSE), ("gammon", AS_BAD))
    )
    both_came(season, one, other)
    season.send(finished("blitzgammon", "m-2", "bob", "ann", at=AT + HOUR))
    return season


def by_version_or_by_date() -> Season:
    season = Season("gammon42")
    match = finished("gammon42", "m-1", "ann", "bob")
    both_came(season, replace(match, formula_version="9.9.9"), match)
    return season


def twice_the_same() -> Season:
    season = Season("gammon42")
    match = finished("gammon42", "m-1", "ann", "bob")
    both_came(season, match, match)
    return season


def of_an_id_or_of_its_account() -> Season:
    season = Season("season0")
    season.send(linked("anon-1", "ann"))
    one, other = (finished("season0", "m-1", player, "bob", at=AT + HOUR) for player in ("anon-1", "ann"))
    both_came(season, one, other)
    return season


def prize_paid() -> Season:
    season = Season("gammon42")
    both_came(season, awarded("t-1"), awarded("t-1"))
    return season


def link_made() -> Season:
    season = Season("season0")
    season.send(finished("season0", "m-1", "anon-1", "bob"))
    both_came(season, linked("anon-1", "ann", at=AT + HOUR), linked("anon-1", "ann", at=AT + HOUR))
    return season


SEASONS = [
    parked,
    parked_at_other_times,
    awaited,
    revised_often,
    settled_inline,
    told_apart_by_what_counts_for_nothing,
    by_version_or_by_date,
    twice_the_same,
    of_an_id_or_of_its_account,
    prize_paid,
    link_made,
]


def right(season: Season) -> None:
    """See that topics and tables are found right, and every input accounted for."""
    inputs, audited = season.inputs(), season.audit()
    assert audited.difference is None
    assert compared(season, Held.of(season.store), audited) is None
    assert fates(audited.replay, inputs).difference is None


@pytest.mark.parametrize("make", SEASONS)
def test_whichever_input_counted_the_tables_are_right(make: Callable[[], Season]) -> None:
    right(make())


def other_prs(record: MatchRecord) -> MatchRecord:
    assert record.rated is not None
    return replace(record, rated=replace(record.rated, prs=(7.0, 4.0)))


def other_exchange(record: MatchRecord) -> MatchRecord:
    assert record.rated is not None
    last = replace(record.rated.exchanges[-1], prs=(7.0, 4.0))
    return replace(record, rated=replace(record.rated, exchanges=(*record.rated.exchanges[:-1], last)))


def swapped_exchanges(record: MatchRecord) -> MatchRecord:
    """Return the record with PRs that were published, but for the revision before."""
    assert record.rated is not None
    *rest, one, last = record.rated.exchanges
    swapped = (replace(one, prs=last.prs), replace(last, prs=one.prs))
    return replace(record, rated=replace(record.rated, exchanges=(*rest, *swapped)))


def prs_of_the_other(record: MatchRecord) -> MatchRecord:
    assert record.rated is not None
    return replace(record, rated=replace(record.rated, prs=AS_BAD))


def from_the_other(record: MatchRecord) -> MatchRecord:
    return replace(record, source=Source("match-finished", COMES_TOO, 0))


def from_nowhere(record: MatchRecord) -> MatchRecord:
    return replace(record, source=Source("match-finished", COMES_TOO, 7))


def content_of_neither(record: MatchRecord) -> MatchRecord:
    return replace(record, content=replace(record.content, win_type="backgammon"))


NOT_ITS_TERMS = "The record of m-1: its terms are not those of its change."

ON_NO_INPUT: list[tuple[Callable[[], Season], Callable[[MatchRecord], MatchRecord], str]] = [
    (parked, other_prs, NOT_ITS_TERMS),
    (awaited, other_exchange, NOT_ITS_TERMS),
    (revised_often, other_exchange, NOT_ITS_TERMS),
    (revised_often, swapped_exchanges, NOT_ITS_TERMS),
    (
        settled_inline,
        other_prs,
        "The record of m-1: it must come from match-finished/1/0, but says match-finished/2/0.",
    ),
    (settled_inline, prs_of_the_other, "The record of m-1: it must come from match-finished/1/0, but says"),
    (settled_inline, from_the_other, NOT_ITS_TERMS),
    (settled_inline, from_nowhere, "The record of m-1: it must come from match-finished/1/0, but says"),
    (told_apart_by_what_counts_for_nothing, content_of_neither, "The record of m-1: win_type must be "),
    (told_apart_by_what_counts_for_nothing, from_the_other, "The record of m-1: win_type must be "),
    (by_version_or_by_date, from_the_other, "The record of m-1: formula_version must be null, "),
    (twice_the_same, from_nowhere, "The record of m-1: it must come from match-finished/1/0, but says"),
]


@pytest.mark.parametrize(("make", "falsify", "sentence"), ON_NO_INPUT)
def test_a_record_that_rests_on_none_of_them_is_named(
    make: Callable[[], Season], falsify: Callable[[MatchRecord], MatchRecord], sentence: str
) -> None:
    season = make()
    held = Held.of(season.store)
    rewritten(held, "m-1", falsify)
    assert (compared(season, held) or "").startswith(sentence)


def test_a_record_may_rest_on_the_other_delivery_of_the_same_content() -> None:
    season = twice_the_same()
    held = Held.of(season.store)
    rewritten(held, "m-1", from_the_other)
    assert compared(season, held) is None


_PRS = st.sampled_from([WORSE, AS_BAD, BETTER, (None, None), (4.0, 4.0)])
_BLITZ: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        lambda number, prs, how: finished(
            "blitzgammon", f"m-{number}", "ann", "bob", at=AT + number * HOUR, prs=prs, win_type=how
        ),
        st.integers(1, 2),
        _PRS,
        st.sampled_from([None, "single"]),
    ),
    st.builds(
        lambda number, prs, revision, turned: analyzed(
            "blitzgammon",
            f"m-{number}",
            prs[::-1] if turned else prs,
            revision,
            players=("bob", "ann") if turned else ("ann", "bob"),
            at=AT + 3 * HOUR,
        ),
        st.integers(1, 2),
        _PRS,
        st.integers(1, 3),
        st.booleans(),
    ),
)
_SEASON0: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        lambda number, winner, kind: replace(
            finished("season0", f"m-{number}", winner, "bob", at=AT + number * HOUR), winner=Player(winner, kind, None)
        ),
        st.integers(1, 3),
        st.sampled_from(["anon-1", "ann"]),
        st.sampled_from(["account", "anonymous"]),
    ),
    st.builds(lambda account: linked("anon-1", account, at=AT + 4 * HOUR), st.sampled_from(["ann", "cem"])),
)
_GAMMON42: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        lambda number, mode, version: finished(
            "gammon42", f"m-{number}", "ann", "bob", at=AT + number * HOUR, mode=mode, formula_version=version
        ),
        st.integers(1, 2),
        st.sampled_from(["ranked", "boosted", "casual"]),
        st.sampled_from([None, "1.3.1", "9.9.9"]),
    ),
    st.builds(
        lambda amount, at: awarded("t-1", "ann", amount, at=AT + at), st.sampled_from([5, 6]), st.sampled_from([0, 1])
    ),
)


@pytest.mark.parametrize(("pool", "event"), [("blitzgammon", _BLITZ), ("season0", _SEASON0), ("gammon42", _GAMMON42)])
@given(st.data())
def test_no_order_of_repeats_and_contradictions_raises_a_false_alarm(
    pool: str, event: st.SearchStrategy[Event], data: st.DataObject
) -> None:
    season = Season(pool)
    for sent, partition in data.draw(st.lists(st.tuples(event, st.integers(0, 2)), max_size=12)):
        season.send(sent, partition=partition)
    right(season)


def test_many_analyses_of_a_revision_are_two_ways_to_settle_a_match_at_most() -> None:
    rules = Season("blitzgammon").configured.rules
    match = Input(
        finished("blitzgammon", "m-1", "ann", "bob"), Delivery(Source("match-finished", 0, 0), AT, None, None)
    )
    analyses = [
        Input(
            analyzed("blitzgammon", "m-1", (float(n % 9), 4.0)),
            Delivery(Source("match-analyzed", 0, n), AT, None, None),
        )
        for n in range(100)
    ]
    ways = list(ways_to_settle(rules, match, analyses))
    assert sorted(len(way.parked) for way in ways) == [44, 56]
    assert len({prs for way in ways for prs in way.prs}) == 9
