"""What an audit finds in the topics: nothing in a right season, and whatever was falsified, by position."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cli.audit.season import SEASONS, Season, blitzgammon, gammon42, season0
from tests.ratings.ladder import AT, HOUR, POOLS, SECOND, analyzed, finished
from worker.cli.audit.run import replay
from worker.ratings.instants import DAY_MS

Falsify = Callable[[Season], object]


@pytest.mark.parametrize("pool", SEASONS)
def test_a_right_season_has_no_difference(pool: str) -> None:
    season = SEASONS[pool]()
    audited = season.audit()
    assert audited.difference is None
    assert (audited.replay.position, audited.repeats) == (season.store.position, 0)
    assert audited.replay.changes == len(season.published)


@given(st.data())
@settings(max_examples=60)
def test_neither_the_order_of_records_nor_repeats_matter(data: st.DataObject) -> None:
    season = SEASONS[data.draw(st.sampled_from(sorted(SEASONS)))]()
    repeated = data.draw(st.lists(st.sampled_from(season.published), max_size=6))
    again = [replace(record, offset=record.offset + 1000) for record in repeated]
    season.published = data.draw(st.permutations([*season.published, *again]))
    season.given = data.draw(st.permutations(season.given))
    audited = season.audit()
    assert (audited.difference, audited.repeats) == (None, len(repeated))


@given(st.data())
@settings(max_examples=150)
def test_whatever_is_falsified_is_found_at_its_position_or_before(data: st.DataObject) -> None:
    season = SEASONS[data.draw(st.sampled_from(sorted(SEASONS)))]()
    index = data.draw(st.integers(0, len(season.published) - 1))
    record = season.published[index]
    said = record.said
    kind = data.draw(st.sampled_from(["field", "key", "header", "byte", "gone"]))
    if kind == "field":
        name = data.draw(st.sampled_from(sorted(said)))
        value = data.draw(st.integers(-(10**6), 10**6) | st.text(max_size=5) | st.booleans() | st.none())
        assume(repr(value) != repr(said[name]))
        season.published[index] = record.says(**{name: value})
    elif kind == "key":
        season.published[index] = replace(record, key=(record.key or b"") + b"?")
    elif kind == "header":
        at = data.draw(st.integers(0, len(record.headers) - 1))
        headers = [*record.headers]
        headers[at] = (headers[at][0], b"other")
        season.published[index] = replace(record, headers=tuple(headers))
    elif kind == "byte":
        value_bytes = (record.value or b"").replace(b",", b" ,", 1)
        season.published[index] = replace(record, value=value_bytes)
    else:
        del season.published[index]
    difference = season.audit().difference
    if kind == "gone" and said["position"] > max(other.said["position"] for other in season.published):
        assert difference is None  # nobody can tell that there was more
        return
    assert difference is not None
    assert difference.position <= said["position"]


def without(season: Season, index: int) -> None:
    del season.published[index]


def swap_positions(season: Season, one: int, other: int) -> None:
    there = {one: other, other: one}
    season.published = [
        record.says(position=there.get(record.said["position"], record.said["position"])) for record in season.published
    ]


def forget_input(season: Season, match_id: str) -> None:
    season.given = [record for record in season.given if match_id.encode() not in (record.value or b"")]


FALSIFIED: list[tuple[Falsify, str]] = [
    (
        lambda season: season.falsify("ann", 2, after=1),
        "Position 3 (match-finished m-3): after of ann must be 1531, but rating-changed/2 offset 3 says 1.",
    ),
    (
        lambda season: season.falsify("ann", 2, details__expected=0.5),
        "Position 3 (match-finished m-3): details.expected of ann must be 0.5",
    ),
    (
        lambda season: season.falsify("cem", 1, seq=2),
        "Position 2 (match-finished m-2): seq of cem must be 1, but rating-changed/1 offset 0 says 2.",
    ),
    (
        lambda season: without(season, season.of("bob", 2)),
        "Position 2 (match-finished m-2) must have an event of each of its players, but there is only that of cem.",
    ),
    (
        lambda season: [without(season, season.of("bob", 2)), without(season, season.of("cem", 1))],
        "Position 2 has no event, but there are events up to position 7.",
    ),
    (
        lambda season: swap_positions(season, 2, 3),
        "Position 2 (match-finished m-3): change of ann must be 16, but rating-changed/2 offset 3 says 15.",
    ),
    (
        lambda season: season.falsify("cem", 2, position=2),
        "Position 2 has events with other bytes already, but rating-changed/1 offset 1 gives it to match-finished m-3 "
        "of cem too.",
    ),
    (
        lambda season: [season.falsify("ann", 3, position=3), season.falsify("dan", 1, position=3)],
        "Position 3 has events with other bytes already",
    ),
    (
        lambda season: [season.falsify("eve", 1, position=3), season.published.pop(season.of("ann", 2))],
        "Position 3 (match-finished m-3): rating-changed/1 offset 1 says so, but rating-changed/2 offset 7 says "
        "tournament-prize-awarded t-1: there must be one cause.",
    ),
    (
        lambda season: season.published.append(season.published[season.of("ann", 1)].says(late=True)),
        "Position 1 has events with other bytes already, but rating-changed/2 offset 0 gives it to match-finished m-1 "
        "of ann too.",
    ),
    (
        lambda season: forget_input(season, "m-3"),
        "Position 3 (match-finished m-3): it must come from an accepted input, but none in match-finished is this.",
    ),
    (
        lambda season: season.falsify(
            "eve", 1, cause={"type": "tournament-prize-awarded", "tournament_id": "t-1", "place": 9}
        ),
        "Position 6 (tournament-prize-awarded t-1): it must come from an accepted input, but none in "
        "tournament-prize-awarded is this.",
    ),
    (
        lambda season: season.falsify("eve", 1, cause={"type": "wager-won"}),
        "Position 6 (wager-won without an id): there is no such kind of cause.",
    ),
    (
        lambda season: season.published.extend(
            season.published[season.of(player, 1)].says(position=8) for player in ("ann", "bob")
        ),
        "Position 8 (match-finished m-1): it must be a match that is new, but it is rated at position 1 already.",
    ),
    (
        lambda season: season.published.append(replace(season.published[0], value=None)),
        "rating-changed/2 offset 0 must hold an event of this pool, but has no value.",
    ),
    (
        lambda season: season.published.append(season.published[0].says(position="first")),
        "rating-changed/2 offset 0 must hold an event of this pool, but does not: ",
    ),
]


@pytest.mark.parametrize(("falsify", "sentence"), FALSIFIED)
def test_what_is_falsified_is_named(falsify: Falsify, sentence: str) -> None:
    season = gammon42()
    falsify(season)
    found = season.sentence()
    assert found.startswith(sentence), found


def test_the_first_difference_in_order_of_position_is_named_wherever_it_comes() -> None:
    season = gammon42()
    season.falsify("dan", 2, after=1)
    season.published.append(season.published[season.of("bob", 1)].says(after=1))
    assert season.sentence().startswith("Position 1 has events with other bytes already")


def test_an_event_that_nobody_can_place_comes_after_what_can_be() -> None:
    season = gammon42()
    season.falsify("dan", 2, after=1)
    season.published.insert(0, replace(season.published[0], value=b"{}"))
    assert season.sentence().startswith("Position 7 ")


def test_events_of_other_pools_are_left_alone() -> None:
    season = gammon42()
    season.published += blitzgammon().published
    season.published.append(replace(season.published[0], key=b"chess:ann", value=b"no event"))
    assert season.audit().difference is None


def test_a_repeat_under_another_pools_key_is_found() -> None:
    season = gammon42()
    season.published.append(replace(season.published[season.of("ann", 1)], key=b"chess:ann"))
    assert season.sentence().startswith("Position 1 has events with other bytes already")


def test_of_two_deliveries_the_one_that_gives_the_published_bytes_is_taken() -> None:
    season = Season("blitzgammon")
    first = season.give(finished("blitzgammon", "m-1", "ann", "bob"), partition=1)
    season.send(finished("blitzgammon", "m-1", "ann", "bob", prs=(9.0, 4.0)), partition=2)
    season.rate(first)
    audited = season.audit()
    assert audited.difference is None
    assert audited.replay.used.answered == {}  # neither is certainly the one


def test_of_two_parked_analyses_the_one_that_gives_the_published_bytes_is_taken() -> None:
    season = Season("blitzgammon")
    season.send(analyzed("blitzgammon", "m-1", (9.0, 4.0), at=AT), partition=2)
    season.give(analyzed("blitzgammon", "m-1", (4.0, 9.0), at=AT), partition=1)
    season.give(analyzed("blitzgammon", "m-1", (4.0, 9.0), players=("ann", "eve"), at=AT))
    season.send(finished("blitzgammon", "m-1", "ann", "bob"))
    assert season.published[0].said["details"]["halved"]
    assert season.audit().difference is None


def test_a_revision_that_nobody_published_is_named() -> None:
    season = blitzgammon()
    season.falsify("ann", 2, details__revision=7)
    season.falsify("bob", 2, details__revision=7)
    assert season.sentence() == (
        "Position 2 (match-finished m-2): it says that revision 7 settled it, but no accepted match-analyzed input has "
        "this revision and names its players."
    )


def test_a_link_told_otherwise_is_named() -> None:
    season = season0()
    season.falsify("anon-2", 2, linked_to="ann")
    assert season.sentence().startswith(
        'Position 5 (identity-linked anon-2): linked_to of anon-2 must be "bob", but rating-changed/2'
    )


def test_an_input_that_was_refused_is_no_cause() -> None:
    season = gammon42()
    season.given = [
        replace(record, timestamp=AT + 40 * DAY_MS) if b'"m-3"' in (record.value or b"") else record
        for record in season.given
    ]
    assert season.sentence().startswith("Position 3 (match-finished m-3): it must come from an accepted input")


def test_windows_count_for_themselves() -> None:
    season = Season("gammon42")
    season.send(*(finished("gammon42", f"m-{n:03}", "ann", f"p-{n}", at=AT + n * SECOND) for n in range(60)))
    season.send(
        finished("gammon42", "n-1", "bob", "ann", at=AT + 55 * SECOND), finished("gammon42", "n-2", "ann", "bob")
    )
    season.send(finished("gammon42", "n-3", "ann", "bob", at=AT + 8 * DAY_MS + HOUR))
    assert season.published[season.of("ann", 60)].said["details"]["k"] == 16
    assert season.audit().difference is None
    again = replay(POOLS["gammon42"], season.published, season.inputs())
    assert len(list(again.replay.windows.games("ann"))) == 63
