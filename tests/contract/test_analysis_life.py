"""The life of analyses, by two workers: parked, settled, flipped, repeated, refused, whatever comes in between."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.ledger import Answer, Ledger, Sent, refused
from tests.contract.two_workers import WORKERS, TwoWorkers, run_on
from tests.ratings.ladder import AT, DAY, HOUR, SECOND, Ladder, analyzed, finished, instant_of, pool_of
from worker.ratings.instants import format_instant
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.tables.tables import PoolTables, Wanted

START = 104
NAMES = ["ann", "bob", "cem"]
PAIRS = st.sampled_from([(one, other) for one in NAMES for other in NAMES if one != other])
MATCH_IDS = st.integers(0, 11).map(lambda number: f"m-{number}")
PRS = st.sampled_from([None, 4.0, 4.5, 9.0])
INSTANTS = st.integers(-2, 2).map(lambda hours: AT + hours * HOUR)
RETENTION = 30 * DAY


@st.composite
def matches(draw: st.DrawFn) -> Sent:
    match = finished(
        "blitzgammon",
        draw(MATCH_IDS),
        *draw(st.sampled_from([("ann", "bob"), ("bob", "ann")]) | PAIRS),
        at=draw(INSTANTS),
        length=draw(st.sampled_from([5, 20, 20])),
        mode=draw(st.sampled_from(["rating"] * 7 + ["casual"])),
        prs=draw(st.sampled_from([(None, None)] * 6 + [(4.0, None), (9.0, 4.0), (4.0, 9.0)])),
    )
    return Sent(match, match.finished_at_ms + SECOND)


@st.composite
def analyses(draw: st.DrawFn, of: st.SearchStrategy[tuple[str, tuple[str, str]]]) -> Sent:
    match_id, pair = draw(of)
    prs = draw(st.sampled_from([(9.0, 4.0)] * 6 + [(4.0, 9.0), (4.0, 9.0), (None, 4.0), (4.0, 4.0)]))
    analysis = analyzed("blitzgammon", match_id, prs, draw(st.integers(1, 5)), players=pair, at=draw(INSTANTS))
    return Sent(analysis, draw(st.sampled_from([SECOND] * 5 + [RETENTION, RETENTION + 1])) + analysis.analyzed_at_ms)


OF_ANY = st.tuples(MATCH_IDS, PAIRS)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


@dataclass
class Rated:
    """A match that waits for analyses: ratings before it, and what it has moved each player by so far."""

    before: dict[str, int]
    raw: float
    standing: dict[str, int]
    revision: int | None
    settles_by_ms: int
    terms: dict[str, dict[str, Any]]


@dataclass
class Analyses(Ledger):
    """Matches by id, None where they are excluded, and what is parked for others in the order in which it came."""

    rated: dict[str, Rated | None] = field(default_factory=dict)
    parked: dict[str, list[Sent]] = field(default_factory=dict)

    def answer(self, sent: Sent) -> Answer:
        if instant_of(sent.event) < self.horizon_ms:
            return refused(Reason.TOO_LATE)
        return self._match(sent.event) if hasattr(sent.event, "winner") else self._analysis(sent)

    def waiting(self, match_id: str) -> list[Sent]:
        """Return what is parked for a match, unless the newest of it is from before the horizon."""
        parked = self.parked.get(match_id, [])
        return [] if all(self.forgets(sent.event.analyzed_at_ms) for sent in parked) else parked

    def exclude(self, event: Any) -> None:
        super().exclude(event)
        self.rated[event.match_id] = None
        self.parked.pop(event.match_id, None)

    def _match(self, match: Any) -> Answer:
        if (known := self.known_already(match)) is not None:
            return known
        if match.mode == "casual":
            self.exclude(match)
            return Answer(Kind.EXCLUDED)
        self.known[match.match_id] = self.content(match)
        settles_by_ms = match.finished_at_ms + RETENTION
        pair, best, reasons = {match.winner.id, match.loser.id}, None, []
        waiting_for_it = self.waiting(match.match_id)
        self.parked.pop(match.match_id, None)
        for waiting in waiting_for_it:
            if {player.id for player in waiting.event.players} != pair:
                reasons.append(Reason.PLAYERS_MISMATCH)
            elif waiting.timestamp_ms > settles_by_ms:
                reasons.append(Reason.TOO_LATE)
            elif best is None or waiting.event.revision > best.revision:
                best = waiting.event
        if best is not None:
            revision, prs = best.revision, {player.id: player.pr for player in best.players}
        else:
            prs = {match.winner.id: match.winner.pr, match.loser.id: match.loser.pr}
            revision = None if None in prs.values() else 0
        return Answer(Kind.RATED, self._rate(match, revision, prs, settles_by_ms), reasons)

    def _rate(self, match: Any, revision: int | None, prs: dict[str, Any], settles_by_ms: int) -> list[dict[str, Any]]:
        winner, loser = match.winner.id, match.loser.id
        before = {name: self.player(name).rating for name in (winner, loser)}
        expected = 1 / (1 + 10.0 ** ((before[loser] - before[winner]) / 800))
        k = min(16.0, max(5.0, 32 - 0.012 * (before[winner] + before[loser]) / 2))
        rated = Rated(before, match.length**0.75 * k * (1 - expected), {}, revision, settles_by_ms, {})
        self.rated[match.match_id] = rated
        halved = self._halved(prs, winner, loser)
        target, swallowed = self._target(rated, winner, loser, halved)
        waits = {"final": False, "settles_by": format_instant(settles_by_ms)} if revision is None else {}
        changes = []
        for name, other, own_expected in ((winner, loser, expected), (loser, winner, 1 - expected)):
            rated.standing[name] = target[name]
            rated.terms[name] = {
                "result": "win" if name == winner else "loss",
                "opponent_id": other,
                "opponent_rating": before[other],
                "expected": own_expected,
                "k": k,
                "divisor": 800,
                "length": match.length,
                "halved": halved,
                "floored_by": swallowed if name == loser else 0,
                "revision": revision,
            }
            changes.append(self.played(name, target[name], match, rated.terms[name], **waits))
        return changes

    def _halved(self, prs: dict[str, Any], winner: str, loser: str) -> bool:
        return None not in prs.values() and prs[winner] > prs[loser]

    def _target(self, rated: Rated, winner: str, loser: str, halved: bool) -> tuple[dict[str, int], int]:
        """Return what the match should have moved both by, and what the floor swallows of it."""
        change = Fraction(half_up(Fraction(rated.raw / 2 if halved else rated.raw) * 100), 100)
        won = half_up(rated.before[winner] + change)
        lost = half_up(rated.before[loser] - change)
        kept = max(100, lost)
        return {winner: won - rated.before[winner], loser: kept - rated.before[loser]}, kept - lost

    def _analysis(self, sent: Sent) -> Answer:
        analysis = sent.event
        prs = {player.id: player.pr for player in analysis.players}
        if analysis.match_id not in self.rated:
            return self._park(sent, set(prs))
        rated = self.rated[analysis.match_id]
        if rated is None:
            return Answer(Kind.IGNORED)
        if set(prs) != set(rated.before):
            return refused(Reason.PLAYERS_MISMATCH)
        if sent.timestamp_ms > rated.settles_by_ms:
            return refused(Reason.TOO_LATE)
        if rated.revision is not None and analysis.revision <= rated.revision:
            return Answer(Kind.DUPLICATE)
        return Answer(Kind.SETTLED, self._settle(analysis, rated, prs))

    def _park(self, sent: Sent, pair: set[str]) -> Answer:
        waiting = self.parked[sent.event.match_id] = self.waiting(sent.event.match_id)
        for other in waiting:
            if {player.id for player in other.event.players} == pair and other.event.revision == sent.event.revision:
                return Answer(Kind.DUPLICATE)
        waiting.append(sent)
        return Answer(Kind.PARKED)

    def _settle(self, analysis: Any, rated: Rated, prs: dict[str, Any]) -> list[dict[str, Any]]:
        winner, loser = rated.before
        halved = self._halved(prs, winner, loser)
        target, _ = self._target(rated, winner, loser, halved)
        rated.revision = analysis.revision
        cause = {"type": "match-analyzed", "match_id": analysis.match_id, "revision": analysis.revision}
        changes = []
        for name in (winner, loser):
            current = self.player(name).rating
            wanted = current + target[name] - rated.standing[name]
            moved = max(100, wanted) - current
            rated.standing[name] += moved
            repeated = {"halved": halved, "floored_by": max(0, 100 - wanted), "revision": analysis.revision}
            details = rated.terms[name] | repeated
            changes.append(self.move(name, moved, cause, analysis.analyzed_at_ms, details=details))
        return changes


class Analysing(TwoWorkers):
    pool = pool_of("blitzgammon", starting_rating=START)
    horizons = st.sampled_from([AT - 9 * HOUR] * 9 + [AT - 2 * HOUR, AT - HOUR])

    def ledger(self) -> Ledger:
        return Analyses("blitzgammon", START, records_kept_ms=RETENTION)

    def events(self) -> st.SearchStrategy[Sent]:
        known = [one.event for one in self.sent if hasattr(one.event, "winner")]
        of_known = st.sampled_from([(match.match_id, (match.winner.id, match.loser.id)) for match in known])
        return st.one_of(matches(), analyses(of_known) if known else matches(), analyses(OF_ANY))

    def teardown(self) -> None:
        async def everything(tables: PoolTables) -> Any:
            loaded = await tables.load(Wanted((), [f"m-{number}" for number in range(12)]))
            return loaded.records, loaded.parked

        records, parked = self.workers[1].ask(everything)
        moved: dict[tuple[str, str], int] = {}
        for change in self.published:
            key = change["cause"]["match_id"], change["player_id"]
            moved[key] = moved.get(key, 0) + change["change"]
        sides = {
            (match_id, side.player_id): side.standing
            for match_id, record in records.items()
            if record.rated is not None
            for side in (record.rated.winner, record.rated.loser)
        }
        assert sides == moved
        assert records.keys() == self.model.known.keys()
        assert {match_id: len(waiting.analyses) for match_id, waiting in parked.items()} == {
            match_id: len(waiting) for match_id in self.model.parked if (waiting := self.model.waiting(match_id))
        }
        super().teardown()


def test_whatever_becomes_of_analyses_contributions_are_the_sums_of_what_was_emitted(redis_server):
    run_on(redis_server.url, Analysing, examples=80)


REVISIONS = st.lists(st.tuples(st.integers(1, 9), PRS, PRS), min_size=1, max_size=4, unique_by=lambda one: one[0])


@settings(max_examples=40)
@given(st.sampled_from([1, 5, 20]), st.sampled_from([None, ("ann", "bob"), ("bob", "ann")]), REVISIONS, st.data())
def test_with_nothing_in_between_no_order_makes_a_difference(redis_server, length, earlier, revisions, data):
    match = finished("blitzgammon", "m-1", "ann", "bob", length=length)
    begin = [] if earlier is None else [finished("blitzgammon", "m-0", *earlier, length=20)]
    analyses = [analyzed("blitzgammon", "m-1", prs, revision) for revision, *prs in sorted(revisions)]
    straight = Ladder(starting_rating=START)
    for event in (*begin, match, *analyses):
        straight.send(event)

    machine = type("Here", (Analysing,), {"url": redis_server.url})()
    if begin:
        machine.send(0, [Sent(begin[0], AT)])
    for event in data.draw(st.permutations([match, *analyses])):
        worker = data.draw(WORKERS)
        machine.commit(worker)
        machine.decide(worker, [Sent(event, instant_of(event))])
    for worker in data.draw(st.permutations([0, 1])):
        machine.commit(worker)
    machine.rows_and_leaderboard_are_what_the_rules_make_of_it()
    assert {name: row[1] for name, row in machine.model.rows().items()} == straight.ratings()
    machine.teardown()
