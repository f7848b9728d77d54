"""What an audit finds in the tables: nothing while they are right, and whatever was falsified."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.audit.held import Held, compared, rewritten
from tests.cli.audit.season import SEASONS, Season, blitzgammon, gammon42, nardeon, season0
from tests.ratings.ladder import AT, HOUR
from worker.ratings.delivery import Source
from worker.tables.packing import pack_fact, pack_row, unpack_link, unpack_prize, unpack_record, unpack_row

WINDOW_MS = 168 * HOUR
ELSEWHERE = Source("match-finished", 2, 7)


@pytest.mark.parametrize("pool", SEASONS)
def test_tables_that_are_right_have_no_difference(pool: str) -> None:
    season = SEASONS[pool]()
    assert compared(season, Held.of(season.store)) is None


def row(held: Held, player_id: str, **fields: Any) -> None:
    held.rows[player_id] = pack_row(replace(unpack_row(held.rows[player_id]), **fields)).encode()


def record(held: Held, match_id: str, *, side: str = "", of_rated: bool = False, **fields: Any) -> None:
    known = unpack_record(held.records[match_id])
    if side:
        assert known.rated is not None
        known = replace(known, rated=replace(known.rated, **{side: replace(getattr(known.rated, side), **fields)}))
    elif of_rated:
        assert known.rated is not None
        known = replace(known, rated=replace(known.rated, **fields))
    else:
        known = replace(known, **fields)
    rewritten(held, match_id, lambda _: known)


def exchange(held: Held, match_id: str, **fields: Any) -> None:
    """Falsify the first exchange of a match."""
    rated = unpack_record(held.records[match_id]).rated
    assert rated is not None
    first, *rest = rated.exchanges
    record(held, match_id, of_rated=True, exchanges=(replace(first, **fields), *rest))


def content(held: Held, match_id: str, **fields: Any) -> None:
    record(held, match_id, content=replace(unpack_record(held.records[match_id]).content, **fields))


def fact(held: Any, field: Any, unpack: Callable[[bytes], Any], **fields: Any) -> None:
    changed = replace(unpack(held[field]), **fields)
    held[field] = b"%d %b" % (changed.position, pack_fact(changed))


FALSIFIED: list[tuple[Callable[[], Season], Callable[[Held], object], str]] = [
    (gammon42, lambda held: row(held, "ann", rating=1541), "ann: rating must be 1540, but the row says 1541."),
    (gammon42, lambda held: row(held, "ann", seq=9), "ann: seq must be 4, but the row says 9."),
    (gammon42, lambda held: row(held, "bob", rated_games=0), "bob: rated_games must be 2, but the row says 0."),
    (nardeon, lambda held: row(held, "cem", experience=4), "cem: experience must be 5, but the row says 4."),
    (nardeon, lambda held: row(held, "cem", rating=1500.0), "cem: rating must be 15"),
    (gammon42, lambda held: row(held, "dan", newest_finished_at_ms=None), "dan: newest_finished_at_ms must be"),
    (season0, lambda held: row(held, "anon-1", retired=False), "anon-1: retired must be true, but the row says false."),
    (gammon42, lambda held: held.rows.pop("eve"), "eve: there must be a row with seq 2, but there is none."),
    (gammon42, lambda held: held.rows.update(ann=b"?"), 'ann: the row cannot be read: "?".'),
    (
        gammon42,
        lambda held: held.rows.update(zed=held.rows["ann"]),
        "zed: there must be no row, for no change was published, but there is one with rating 1540.",
    ),
    (gammon42, lambda held: held.windows["ann"].pop(0), "ann: the window must have m-1, but does not."),
    (gammon42, lambda held: held.windows["ann"].append(("m-9", AT)), "ann: the window must not have m-9, but does."),
    (
        gammon42,
        lambda held: held.windows["dan"].append(held.windows["dan"][0]),
        "dan: the window must not have m-4, but does.",
    ),
    (
        gammon42,
        lambda held: held.windows.update(eve=[("m-6", AT)]),
        f"eve: the window must have m-6 at {AT + 4 * HOUR}, but has it at {AT}.",
    ),
    (nardeon, lambda held: held.windows.update(ann=[("m-3", AT)]), "ann: the window must not have m-3, but does."),
    (gammon42, lambda held: held.scores.update(ann=-1500.0), "ann: the leaderboard must have 1540, but has 1500.0."),
    (gammon42, lambda held: held.scores.pop("ann"), "ann: the leaderboard must have the player, but does not."),
    (
        season0,
        lambda held: held.scores.update({"anon-2": -1208.0}),
        "anon-2: the leaderboard must not have the player, but does.",
    ),
    (nardeon, lambda held: held.scores.update(cem=-1500.0), "cem: the leaderboard must not have the player, but does."),
    (gammon42, lambda held: held.scores.update(zed=-1500.0), "zed: the leaderboard shows a player who has no row."),
    (
        gammon42,
        lambda held: record(held, "m-2", side="winner", standing=1),
        "The record of m-2: standing of bob must be ",
    ),
    (
        gammon42,
        lambda held: record(held, "m-2", side="loser", terms={}),
        "The record of m-2: its terms are not those of its change.",
    ),
    (
        blitzgammon,
        lambda held: record(held, "m-3", of_rated=True, revision=1),
        "The record of m-3: revision must be 2, but is 1.",
    ),
    (gammon42, lambda held: record(held, "m-2", position=9), "The record of m-2: its position must be 2, but is 9."),
    (gammon42, lambda held: content(held, "m-2", cube=8), "The record of m-2: cube must be 4, but is 8."),
    (gammon42, lambda held: record(held, "m-2", rated=None), "The record of m-2: it must be rated, but is excluded."),
    (gammon42, lambda held: held.records.pop("m-2"), "The record of m-2: there must be one, but there is none."),
    (gammon42, lambda held: held.records.update({"m-2": b"?"}), "The record of m-2: it cannot be read."),
    (
        gammon42,
        lambda held: held.records.update({"m-9": held.records["m-2"]}),
        "The record of m-9: there must be none, for no change names it, but there is one with position 2.",
    ),
    (
        blitzgammon,
        lambda held: record(held, "m-1", of_rated=True, prs=(8.0, 4.0)),
        "The record of m-1: its terms are not those of its change.",
    ),
    (
        blitzgammon,
        lambda held: exchange(held, "m-3", prs=(8.0, 4.0)),
        "The record of m-3: its terms are not those of its change.",
    ),
    (
        blitzgammon,
        lambda held: exchange(held, "m-3", analyzed_at_ms=AT),
        "The record of m-3: its terms are not those of its change.",
    ),
    (
        gammon42,
        lambda held: record(held, "m-2", source=ELSEWHERE),
        "The record of m-2: it must come from match-finished/0/1, but says match-finished/2/7.",
    ),
    (
        gammon42,
        lambda held: record(held, "m-5", source=ELSEWHERE),
        "The record of m-5: it must come from match-finished/0/4, but says match-finished/2/7.",
    ),
    (
        gammon42,
        lambda held: row(held, "dan", last_source=str(ELSEWHERE)),
        "dan: the last change must come from match-finished/0/7, but the row says match-finished/2/7.",
    ),
    (
        gammon42,
        lambda held: fact(held.prizes, min(held.prizes), unpack_prize, source=ELSEWHERE),
        "The prize of t-1 for ann must come from tournament-prize-awarded/0/0, but says match-finished/2/7.",
    ),
    (
        season0,
        lambda held: fact(held.links, "ann", unpack_link, source=ELSEWHERE),
        "The link of ann must come from identity-linked/0/0, but says match-finished/2/7.",
    ),
    (
        gammon42,
        lambda held: record(held, "m-5", excluded_reason="computer"),
        "The record of m-5: it must be boosted, but is excluded as computer.",
    ),
    (
        gammon42,
        lambda held: held.records.update({"m-9": held.records["m-5"]}),
        "The record of m-9: it must come from an accepted input, but none in match-finished says what it does.",
    ),
    (
        gammon42,
        lambda held: fact(held.prizes, min(held.prizes), unpack_prize, amount=26),
        "The prize of t-1 for ann: amount must be 25, but is 26.",
    ),
    (gammon42, lambda held: held.prizes.pop(min(held.prizes)), "The prize of t-1 for ann must be kept, but is not."),
    (gammon42, lambda held: held.prizes.update({b"?": b"?"}), 'The prize at "?" cannot be read, or is another one.'),
    (
        season0,
        lambda held: fact(held.links, "ann", unpack_link, took_over=False),
        "The link of ann: took_over must be true, but is false.",
    ),
    (season0, lambda held: held.links.pop("anon-1"), "The link of anon-1 must be kept, but is not."),
    (
        season0,
        lambda held: held.links.update(zed=held.links["ann"]),
        "The link of zed must not be kept, for no change names it, but is.",
    ),
]


@pytest.mark.parametrize(("make", "falsify", "sentence"), FALSIFIED)
def test_what_is_falsified_is_named(
    make: Callable[[], Season], falsify: Callable[[Held], object], sentence: str
) -> None:
    season = make()
    held = Held.of(season.store)
    falsify(held)
    found = compared(season, held)
    assert found is not None
    assert found.startswith(sentence), found


def test_the_difference_of_the_lowest_position_is_named() -> None:
    season = gammon42()
    held = Held.of(season.store)
    row(held, "eve", seq=9)
    record(held, "m-2", side="winner", standing=1)
    assert (compared(season, held) or "").startswith("The record of m-2: ")


def test_contributions_that_do_not_add_up_to_the_rating_are_named() -> None:
    season = gammon42()
    audited = season.audit()
    audited.replay.contributed["ann"] += 1
    assert compared(season, Held.of(season.store), audited) == (
        "ann: the start and all contributions are 1541, but the rating is 1540."
    )


def test_the_sum_of_all_ratings_is_compared() -> None:
    season = gammon42()
    audited = season.audit()
    audited.replay.contributed["nobody"] = 5
    found = compared(season, Held.of(season.store), audited) or ""
    assert found.startswith("All ratings must add up to ")


def test_what_was_pruned_behind_the_horizon_may_be_missing() -> None:
    season = gammon42()
    held = Held.of(season.store)
    held.horizon_ms = AT + WINDOW_MS + 1
    held.windows["ann"].pop(0)
    del held.records["m-1"]
    assert compared(season, held) is None


def test_what_the_horizon_has_not_passed_may_not_be_missing() -> None:
    season = gammon42()
    held = Held.of(season.store)
    held.horizon_ms = AT + WINDOW_MS
    held.windows["ann"].pop(0)
    assert compared(season, held) == "ann: the window must have m-1, but does not."
    held = Held.of(season.store)
    held.horizon_ms = AT
    del held.records["m-1"]
    assert compared(season, held) == "The record of m-1: there must be one, but there is none."


def test_what_is_not_pruned_yet_may_be_there() -> None:
    season = gammon42()
    held = Held.of(season.store)
    held.horizon_ms = AT + 30 * WINDOW_MS
    assert compared(season, held) is None
