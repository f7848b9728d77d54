"""What the demo checks of what came out: broken chains, and numbers that are not those of the simulation."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ratings.ladder import Ladder, awarded, linked
from worker.cli.demo.audit import audit
from worker.cli.demo.tally import NO_POOL, Letter, Stated, count_answers, differences, pool_named
from worker.cli.simulation import Kind, Published

Event = dict[str, Any]
STARTS = {"blitzgammon": 1500, "nardeon": 1500.0, "gammon42": 1500, "season0": 1200}


def played() -> Ladder:
    ladder = Ladder("blitzgammon")
    ladder.match("m-1", "ann", "bob")
    ladder.match("m-2", "bob", "cem")
    ladder.match("m-3", "ann", "cem")
    ladder.analysis(9.0, 4.0)
    return ladder


def ratings(ladder: Ladder) -> dict[tuple[str, str], Any]:
    return {(ladder.pool.name, player_id): rating for player_id, rating in ladder.ratings().items()}


def found(events: list[Event], changed: dict[tuple[str, str], Any] | None = None) -> str | None:
    return audit(events, STARTS, ratings(played()) | (changed or {})).difference


def ann(events: list[Event], seq: int) -> Event:
    return next(event for event in events if (event["player_id"], event["seq"]) == ("ann", seq))


def test_unbroken_chains_pass_and_are_counted() -> None:
    blitz, nardeon = played(), Ladder("nardeon")
    for number in range(20):
        nardeon.match(f"m-{number}", *(("ann", "bob") if number % 3 else ("bob", "ann")))
    events = blitz.values() + nardeon.values()
    assert audit(events, STARTS, ratings(blitz) | ratings(nardeon)) == (48, 0, 5, 2, None)


@given(st.data())
def test_repeats_are_dropped_wherever_they_come(data: st.DataObject) -> None:
    events = played().values()
    repeats = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=5))
    published = [event for number, event in enumerate(events) for _ in range(1 + repeats.count(number))]
    seen = audit(published + [events[number] for number in repeats], STARTS, ratings(played()))
    assert (seen.changes, seen.repeats, seen.difference) == (len(events), 2 * len(repeats), None)


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda events: events.remove(ann(events, 2)), "ann in blitzgammon: change 3 comes after change 1."),
        (
            lambda events: ann(events, 2).update(before=1500, after=1500 + ann(events, 2)["change"]),
            "ann in blitzgammon: change 2 begins at 1500, but it stood at 1523.",
        ),
        (lambda events: ann(events, 1).update(before=1400), "change 1 begins at 1400, but it stood at 1500."),
        (
            lambda events: ann(events, 3).update(change=0),
            "ann in blitzgammon: in change 3 before + change is not after.",
        ),
        (
            lambda events: events.append({**ann(events, 1), "late": True}),
            "ann in blitzgammon: change 1 came again and says something else.",
        ),
        (
            lambda events: [event.update(position=9) for event in events if event["position"] == 2],
            "blitzgammon: no change has position 2, but later ones have theirs.",
        ),
        (
            lambda events: [events.remove(event) for event in list(events) if event["player_id"] == "cem"],
            "cem in blitzgammon: Redis has a rating, but no change was published.",
        ),
    ],
)
def test_what_is_broken_is_named(break_it: Callable[[list[Event]], object], sentence: str) -> None:
    events = played().values()
    break_it(events)
    assert (found(events) or "").endswith(sentence)


def test_another_rating_in_redis_is_named() -> None:
    events = played().values()
    last = ann(events, 3)["after"]
    assert found(events, {("blitzgammon", "ann"): 7}) == (
        f"ann in blitzgammon: the last change says {last}, but Redis says 7."
    )


def test_contributions_that_were_swapped_between_changes_are_found() -> None:
    events = played().values()
    first, second = ann(events, 1), ann(events, 2)
    first["change"], second["change"] = second["change"], first["change"]
    assert found(events) is not None


def signed_up() -> Ladder:
    """A device that played twice became ann, and ann plays on; another one became bob, who had played."""
    ladder = Ladder("season0")
    ladder.match("m-1", "device-1", "bob")
    ladder.match("m-2", "device-1", "cem")
    ladder.send(linked("device-1", "ann"))
    ladder.match("m-3", "ann", "device-2")
    ladder.match("m-4", "cem", "device-1")
    ladder.send(linked("device-2", "bob"))
    return ladder


def change(events: list[Event], player_id: str, cause: str = "identity-linked") -> Event:
    return next(event for event in events if (event["player_id"], event["cause"]["type"]) == (player_id, cause))


def test_prizes_and_links_are_part_of_the_chains() -> None:
    ladder, paid = signed_up(), Ladder("gammon42")
    paid.send(awarded("t-1", "zoë"))
    paid.match("m-1", "zoë", "bob")
    paid.send(awarded("t-1", "bob", 10, 2))
    events = ladder.values() + paid.values()
    assert audit(events, STARTS, ratings(ladder) | ratings(paid)) == (16, 0, 7, 2, None)


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (
            lambda events: change(events, "device-1").update(rated_games=7),
            "ann in season0: took over from device-1 something else than its rating and rated games.",
        ),
        (
            lambda events: change(events, "bob").update(rated_games=7),
            "bob in season0: has 1 rated games, but the link to device-2 changed something.",
        ),
        (
            lambda events: events.remove(change(events, "device-2")),
            "bob in season0: its link was published for one of the two ids only.",
        ),
        (
            lambda events: events.append({**change(events, "device-1", "match-finished"), "seq": 4, "position": 7}),
            "device-1 in season0: change 4 comes after it was linked to ann.",
        ),
    ],
)
def test_a_link_that_is_not_as_it_must_be_is_named(break_it: Callable[[list[Event]], object], sentence: str) -> None:
    ladder = signed_up()
    events = ladder.values()
    break_it(events)
    assert audit(events, STARTS, ratings(ladder)).difference == sentence


def published(kind: Kind, match_id: str = "m-1", reason: str | None = None) -> Published:
    value = orjson.dumps({"match_id": match_id, "pool": "blitzgammon"})
    return Published("match-finished", b"", value, 0, (), kind, reason)


def stated(*records: Published) -> Stated:
    counted = Stated()
    for record in records:
        counted.add(record)
    return counted


def test_what_agrees_gives_no_difference() -> None:
    ladder = played()
    ladder.match("m-4", mode="casual")
    wanted = stated(
        *(published(kind, reason=reason) for kind, reason in [(Kind.MATCH, None)] * 2 + [(Kind.LATE, None)]),
        published(Kind.EXCLUDED, reason="casual"),
        published(Kind.DUPLICATE),
        published(Kind.CONFLICT, reason="conflict"),
    )
    letter = Letter("conflict", "blitzgammon", ("match-finished", "0", "9"))
    came = count_answers(
        ladder.values(), ladder.values("match-excluded") * 2, [letter, letter], {("blitzgammon", "match-finished"): 1}
    )
    assert differences(wanted, came) == []
    assert [halved.match_id for halved in came.halved] == ["m-1"]
    assert came.halved[0].late


def test_every_number_that_differs_is_a_sentence() -> None:
    came = count_answers(played().values(), [], [Letter("schema", NO_POOL, ("t", "0", "1"))], {})
    assert differences(stated(published(Kind.MATCH), published(Kind.DUPLICATE)), came) == [
        "rated in blitzgammon: 3 came out, but the simulation states 1.",
        "duplicates in blitzgammon on match-finished: 0 came out, but the simulation states 1.",
        "dead letters with the reason schema: 1 came out, but the simulation states 0.",
    ]


def fact(topic: str, kind: Kind, pool: str, reason: str | None = None, **fields: str) -> Published:
    return Published(topic, b"", orjson.dumps({"pool": pool, **fields}), 0, (), kind, reason)


def test_prizes_and_links_are_counted_once_and_what_signing_up_brought_is_told() -> None:
    ladder, paid = signed_up(), Ladder("gammon42")
    paid.send(awarded("t-1", "zoë"))
    wanted = stated(
        *(fact("match-finished", Kind.MATCH, "season0") for _ in range(4)),
        *(fact("identity-linked", Kind.LINK, "season0") for _ in range(2)),
        fact("identity-linked", Kind.DUPLICATE, "season0"),
        fact("identity-linked", Kind.CONFLICT, "season0", "already-linked"),
        fact("tournament-prize-awarded", Kind.PRIZE, "gammon42"),
    )
    letter = Letter("already-linked", "season0", ("identity-linked", "0", "9"))
    came = count_answers(2 * (ladder.values() + paid.values()), [], [letter], {("season0", "identity-linked"): 1})
    assert differences(wanted, came) == []
    assert [prize["change"] for prize in came.prizes] == [25]
    assert [(link.anonymous_id, link.took_over, link.rated_games, link.games_since) for link in came.links] == [
        ("device-1", True, 2, 2),
        ("device-2", False, 1, 0),
    ]


def test_a_prize_or_link_that_did_not_come_is_a_sentence() -> None:
    wanted = stated(
        fact("tournament-prize-awarded", Kind.PRIZE, "gammon42"), fact("identity-linked", Kind.LINK, "season0")
    )
    assert differences(wanted, count_answers([], [], [], {})) == [
        "prizes in gammon42: 0 came out, but the simulation states 1.",
        "links in season0: 0 came out, but the simulation states 1.",
    ]


@pytest.mark.parametrize("is_linked_first", [True, False])
def test_a_match_against_oneself_is_rated_or_refused_as_the_link_came_after_it_or_before(is_linked_first: bool) -> None:
    ladder = Ladder("season0")
    steps = [lambda: ladder.send(linked("device-1", "ann")), lambda: ladder.match("m-1", "ann", "device-1")]
    for step in steps if is_linked_first else reversed(steps):
        step()
    wanted = stated(
        fact("identity-linked", Kind.LINK, "season0"),
        fact("match-finished", Kind.AGAINST_ONESELF, "season0", "self-match", match_id="m-1"),
    )
    letters = [Letter(reason, "season0", ("match-finished", "0", "0")) for reason in ladder.reasons()]
    came = count_answers(ladder.values(), [], letters, {})
    wanted.settle(came.matches)
    assert differences(wanted, came) == []
    assert came.letters["self-match"] == is_linked_first


def test_a_match_that_a_higher_revision_made_full_again_is_not_halved() -> None:
    ladder = played()
    ladder.analysis(4.0, 9.0, 2)
    assert count_answers(ladder.values(), [], [], {}).halved == []


@pytest.mark.parametrize("value", [None, b"", b"\xff", b"[]", b'{"pool": 3}'])
def test_what_names_no_pool_is_counted_apart(value: bytes | None) -> None:
    assert pool_named(value, NO_POOL) == NO_POOL
