import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from tests.ratings.ladder import AT, DAY, Ladder, awarded, is_letter, linked
from worker.files import packaged
from worker.ratings.delivery import Delivery, Source, Unreadable
from worker.ratings.outcome import refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.wire import DLT_HEADERS, Message, complete, event_id_part, messages, without_body

SCHEMAS = {
    topic: Draft202012Validator(json.loads(packaged(f"schemas/{topic}.schema.json").read_bytes()))
    for topic in ("rating-changed", "match-excluded")
}
IDS = st.text(min_size=1, max_size=128)


def published(ladder):
    """Return every message as (message, value), each valid by its published schema."""
    found = []
    for message in ladder.published:
        value = orjson.loads(message.value)
        if not is_letter(message):
            SCHEMAS[message.topic].validate(value)
        found.append((message, value))
    return found


class TestRatingChanged:
    @pytest.mark.parametrize("ruleset", ["gammon42", "blitzgammon", "nardeon", "season0"])
    def test_is_valid_by_its_schema_for_every_ruleset_and_cause(self, ruleset):
        ladder = Ladder(ruleset)
        ladder.match("m-1")
        ladder.match("m-2", "bob", "cem", prs=(1.0, 2.0))
        ladder.match("m-3", "bob", "cem", at=AT - 1)
        ladder.analysis(9.0, 4.0)
        assert len(published(ladder)) == (8 if ruleset == "blitzgammon" else 6)

    def test_has_position_as_the_last_field(self):
        ladder = Ladder("season0")
        ladder.match("m-1")
        ladder.match("m-2")
        assert [list(value)[-1] for _, value in published(ladder)] == ["position"] * 4
        assert [value["position"] for _, value in published(ladder)] == [1, 1, 2, 2]

    def test_names_its_cause_in_the_event_id(self):
        ladder = Ladder()
        ladder.match("m-1")
        ladder.analysis(4.0, 9.0, revision=2)
        assert [value["event_id"] for _, value in published(ladder)] == [
            "blitzgammon/match-finished/m-1/ann",
            "blitzgammon/match-finished/m-1/bob",
            "blitzgammon/match-analyzed/m-1@2/ann",
            "blitzgammon/match-analyzed/m-1@2/bob",
        ]

    def test_encodes_what_separates_in_ids_but_shows_them_plain_elsewhere(self):
        ladder = Ladder("season0")
        ladder.match("a/b@2%2F", "x@y", "100%")
        message, value = published(ladder)[0]
        assert value["event_id"] == "season0/match-finished/a%2Fb%402%252F/x%40y"
        assert (value["player_id"], value["details"]["opponent_id"]) == ("x@y", "100%")
        assert value["cause"]["match_id"] == "a/b@2%2F"
        assert message.key == b"season0:x@y"

    def test_has_cloudevents_headers(self):
        ladder = Ladder("season0")
        ladder.match()
        [message, _] = ladder.published
        assert sorted(message.headers) == [
            ("ce_id", b"season0/match-finished/m-1/ann"),
            ("ce_source", b"/gammon-ratings/season0"),
            ("ce_specversion", b"1.0"),
            ("ce_time", b"2026-11-01T12:00:00.000Z"),
            ("ce_type", b"rating-changed.v1"),
            ("content-type", b"application/json"),
        ]

    def test_shows_what_a_floor_swallowed(self):
        ladder = Ladder(starting_rating=100)
        ladder.match(length=1)
        loser = published(ladder)[1][1]
        assert (loser["before"], loser["change"], loser["after"], loser["details"]["floored_by"]) == (100, 0, 100, 8)

    def test_has_experience_in_nardeon_only(self):
        nardeon, season0 = Ladder("nardeon"), Ladder("season0")
        nardeon.match(length=7)
        season0.match()
        assert published(nardeon)[0][1]["experience"] == 7
        assert "experience" not in published(season0)[0][1]

    @given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(1, 99)), max_size=40))
    def test_adds_up_and_chains_bit_for_bit_where_ratings_are_doubles(self, games):
        ladder = Ladder("nardeon", starting_rating=3)
        for number, (winner, loser, length) in enumerate(games):
            if winner != loser:
                ladder.match(f"m-{number}", winner, loser, length=length)
        last = {}
        for _, value in published(ladder):
            assert value["before"] + value["change"] == value["after"]
            seq, after = last.get(value["player_id"], (0, 3.0))
            assert (value["seq"], value["before"]) == (seq + 1, after)
            last[value["player_id"]] = value["seq"], value["after"]

    def test_of_the_same_inputs_has_the_same_bytes(self):
        first, second = Ladder(), Ladder()
        for ladder in (first, second):
            ladder.match()
            ladder.analysis(9.0, 4.0)
        assert first.published == second.published


class TestRatingChangedByAPrize:
    def test_is_one_event_that_names_tournament_and_place(self):
        ladder = Ladder("gammon42")
        ladder.send(awarded("t/1@%", "zo/e", 50, 2))
        [(message, value)] = published(ladder)
        assert value == {
            "event_id": "gammon42/tournament-prize-awarded/t%2F1%40%25/zo%2Fe",
            "pool": "gammon42",
            "player_id": "zo/e",
            "seq": 1,
            "cause": {"type": "tournament-prize-awarded", "tournament_id": "t/1@%", "place": 2},
            "before": 1500,
            "change": 50,
            "after": 1550,
            "final": True,
            "late": False,
            "occurred_at": "2026-11-01T12:00:00.000Z",
            "details": {},
            "rated_games": 0,
            "position": 1,
        }
        assert message.key == b"gammon42:zo/e"
        assert dict(message.headers)["ce_id"] == value["event_id"].encode()

    def test_is_never_late(self):
        ladder = Ladder("gammon42")
        ladder.match()
        ladder.send(awarded("t-1", at=AT - DAY))
        assert (ladder.values()[-1]["late"], ladder.values()[-1]["final"]) == (False, True)


class TestRatingChangedByALink:
    def test_is_the_accounts_event_and_then_the_anonymous_ids_that_says_retired(self):
        ladder = Ladder("season0")
        ladder.match("m-1", "an/on", "bob")
        ladder.send(linked("an/on", "ann", at=AT - DAY))
        (_, _), (_, _), (message, claimed), (other, retired) = published(ladder)
        shared = {
            "pool": "season0",
            "cause": {"type": "identity-linked", "anonymous_id": "an/on", "account_id": "ann"},
            "after": 1208,
            "final": True,
            "late": False,
            "occurred_at": "2026-10-31T12:00:00.000Z",
            "details": {},
            "rated_games": 1,
            "position": 2,
        }
        assert claimed == shared | {
            "event_id": "season0/identity-linked/an%2Fon/ann",
            "player_id": "ann",
            "seq": 1,
            "before": 1200,
            "change": 8,
        }
        assert retired == shared | {
            "event_id": "season0/identity-linked/an%2Fon/an%2Fon",
            "player_id": "an/on",
            "seq": 2,
            "before": 1208,
            "change": 0,
            "retired": True,
            "linked_to": "ann",
        }
        assert (message.key, other.key) == (b"season0:ann", b"season0:an/on")

    def test_is_the_last_of_the_anonymous_id(self):
        ladder = Ladder("season0")
        ladder.send(linked("anon", "ann"))
        ladder.match("m-1", "anon", "bob")
        ladder.match("m-2", "bob", "anon")
        values = [value for _, value in published(ladder)]
        assert [value["position"] for value in values if value["player_id"] == "anon"] == [1]
        assert [value["seq"] for value in values if value["player_id"] == "ann"] == [1, 2, 3]
        assert not any("retired" in value or "linked_to" in value for value in values if value["player_id"] != "anon")


class TestEventIds:
    @given(IDS, IDS, IDS, IDS)
    def test_are_the_same_for_the_same_ids_only(self, match, player, other_match, other_player):
        one = f"{event_id_part(match)}/{event_id_part(player)}"
        other = f"{event_id_part(other_match)}/{event_id_part(other_player)}"
        assert (one == other) == ((match, player) == (other_match, other_player))

    @given(IDS)
    def test_never_look_like_another_revision(self, match):
        assert event_id_part(match).count("@") == event_id_part(match).count("/") == 0


class TestMatchExcluded:
    def test_tells_whose_match_and_why(self):
        ladder = Ladder("nardeon")
        ladder.match("m/1", mode="club")
        [(message, value)] = published(ladder)
        assert value == {
            "event_id": "nardeon/match-excluded/m%2F1",
            "pool": "nardeon",
            "match_id": "m/1",
            "winner_id": "ann",
            "loser_id": "bob",
            "reason": "club-table",
            "occurred_at": "2026-11-01T12:00:00.000Z",
        }
        headers = dict(message.headers)
        assert message.topic == "match-excluded"
        assert message.key == b"nardeon:m/1"
        assert (headers["ce_id"], headers["ce_type"]) == (b"nardeon/match-excluded/m%2F1", b"match-excluded.v1")
        assert headers["ce_source"] == b"/gammon-ratings/nardeon"


class TestDeadLetters:
    def letter(self, headers=(), message="Why, and what to do.", key=None, value=b"\xff\x00"):
        delivery = Delivery(Source("t-match-finished", 3, 17), 1_700_000_000_123, key, value, headers)
        outcome = refuse("m-1", ("ann", "bob"), AT, delivery, Refusal(Reason.CONFLICT, message))
        [letter] = messages("season0", outcome, "t-")
        return letter

    def test_carry_the_input_byte_for_byte(self):
        letter = self.letter([("trace", b"\x00"), ("trace", b"b")])
        assert (letter.topic, letter.key, letter.value) == ("t-match-finished.dlt", None, b"\xff\x00")
        assert letter.headers[:2] == [("trace", b"\x00"), ("trace", b"b")]

    def test_say_why_and_where_the_input_stood(self):
        assert dict(self.letter().headers) == {
            "dlt-reason": b"conflict",
            "dlt-message": b"Why, and what to do.",
            "dlt-topic": b"t-match-finished",
            "dlt-partition": b"3",
            "dlt-offset": b"17",
            "dlt-timestamp": b"1700000000123",
        }

    def test_replace_earlier_headers_of_these_names(self):
        headers = self.letter([("dlt-reason", b"schema"), ("kept", b"1"), ("dlt-offset", b"1")]).headers
        assert [name for name, _ in headers] == [
            "kept",
            "dlt-reason",
            "dlt-message",
            "dlt-topic",
            "dlt-partition",
            "dlt-offset",
            "dlt-timestamp",
        ]

    def test_keep_headers_of_null_and_every_repetition_in_order(self):
        headers = [("h", None), ("", b""), ("h", b"\xff"), ("h", None)]
        assert self.letter(headers).headers[:4] == headers

    def test_have_a_body_unless_they_say_so(self):
        forged = [("dlt-body", b"left out: too large"), ("dlt-body", None), ("kept", None)]
        letter = self.letter(forged)
        assert ("kept", None) in letter.headers
        assert "dlt-body" not in dict(letter.headers)
        assert without_body(letter).headers[-1] == ("dlt-body", b"left out: too large")

    def test_of_what_the_client_cannot_read_have_coordinates_only(self):
        letter = self.letter(value=Unreadable("Why."))
        assert (letter.topic, letter.key, letter.value) == ("t-match-finished.dlt", None, None)
        assert [name for name, _ in letter.headers] == [*DLT_HEADERS, "dlt-body"]
        assert dict(letter.headers)["dlt-body"] == b"left out: unreadable"
        assert dict(letter.headers)["dlt-offset"] == b"17"

    def test_keep_a_tombstone_a_tombstone(self):
        letter = self.letter(value=None)
        assert complete(letter, 7) == letter
        assert letter.value is None

    def test_are_ascii_whatever_the_sentence_quotes(self):
        assert dict(self.letter(message="not \u00e9").headers)["dlt-message"] == b"not \\xe9"


class TestTopics:
    def test_have_the_configured_prefix(self):
        ladder = Ladder()
        rated, excluded = ladder.match("m-1"), ladder.match("m-2", mode="casual")
        assert [message.topic for message in messages("p", rated, "eu-")] == ["eu-rating-changed"] * 2
        assert [message.topic for message in messages("p", excluded, "eu-")] == ["eu-match-excluded"]

    def test_most_outcomes_publish_nothing(self):
        ladder = Ladder()
        ladder.analysis(1.0, 2.0)
        ladder.analysis(1.0, 2.0)
        ladder.match(timestamp=AT + DAY)
        ladder.match()
        assert len(ladder.published) == 2


def test_only_what_waits_for_a_position_gets_one():
    waiting = Message("t", None, b'{"a":1', [], True)
    assert complete(waiting, 9_007_199_254_740_993).value == b'{"a":1,"position":9007199254740993}'
    assert complete(complete(waiting, 1), 2) == complete(waiting, 1)
