"""The run itself: matches in the order in which they end, and what follows from each, in order of record timestamp."""

import math
from collections.abc import Callable, Iterator, Mapping
from random import Random

from worker.cli.simulation.analyses import analysis, first_prs, flipped_prs
from worker.cli.simulation.chance import between, pick
from worker.cli.simulation.facts import link, other_link, other_prize, tournament
from worker.cli.simulation.identities import Identities
from worker.cli.simulation.people import populate
from worker.cli.simulation.plan import Linked, Plan, Planned
from worker.cli.simulation.platforms import Event, Ladder, Played, against_oneself, play
from worker.cli.simulation.poison import RETENTION_DAYS, poison, poison_fact, strangers
from worker.cli.simulation.repeats import other_content, same_content, same_fact
from worker.cli.simulation.scenario import (
    DAY_MS,
    FEW,
    HOUR_MS,
    IDENTITY_LINKED,
    MATCH_ANALYZED,
    MATCH_FINISHED,
    MINUTE_MS,
    PRIZE_AWARDED,
    RULESETS,
    Kind,
    Published,
    Scenario,
)
from worker.cli.simulation.seen import Seen

_HEADERS = (("content-type", b"application/json"),)
_SECOND_MS = 1000
_LATEST_MS = (RETENTION_DAYS - 1) * DAY_MS
"""No repetition or analysis comes later than this after its match, so that none is `too-late`."""
_TRIES = 20
_FACTS_SPOILED, _FOREIGN_FACTS = 0.4, 0.08
"""Of the invalid records: those on the topics of prizes and links, or by a link, in pools with such and in others."""
_SLOW_SHARE = 0.15
"""Prizes and links that are published long after they happened."""


_INSTANTS = {PRIZE_AWARDED: "awarded_at", IDENTITY_LINKED: "linked_at"}
_OTHERS: Mapping[str, tuple[Callable[[Random, Event], Event], str]] = {
    PRIZE_AWARDED: (other_prize, "conflict"),
    IDENTITY_LINKED: (other_link, "already-linked"),
}


def simulate(scenario: Scenario) -> Iterator[Published]:
    """Yield the scenario's records in order of their timestamps, a few thousand matches in memory at most.

    What is wrong on purpose is certain: a record labelled conflict or invalid is refused for its `reason` by any
    worker that has seen the records before it, and one labelled late is late for one of its players. Contradictions
    and repetitions carry the key of what they refer to, so that no number of partitions puts them before it. Of links
    and matches, whose topics have no order between them, only that much is stated: every link is accepted, every
    match counts as one, and a match labelled against-oneself is either rated or refused.
    """
    return _Feed(scenario).records()


def _ladder(scenario: Scenario, pool: str, ruleset: str) -> Ladder:
    population = populate(scenario.seed, pool, ruleset, scenario.players)
    signs_up = ruleset == "season0" and scenario.shares.links
    identities = Identities(scenario.seed, pool, population) if signs_up else None
    return Ladder(pool, ruleset, population, scenario.plain, identities)


def _analysis_kind(played: Played, revision: int, *, early: bool) -> Kind:
    if played.reason is not None:
        return Kind.IGNORED_ANALYSIS
    if early:
        return Kind.EARLY_ANALYSIS
    return Kind.ANALYSIS if revision == 1 else Kind.REVISION


class _Feed:
    """The state of one run: what is planned, and what has been seen by now."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._random = Random(f"matches/{scenario.seed}/{scenario.start_ms}")  # noqa: S311 - a simulation
        self._ladders = tuple(_ladder(scenario, pool, ruleset) for pool, ruleset in scenario.pools.items())
        shares = scenario.shares
        self._facts = tuple(
            topic for topic, share in ((PRIZE_AWARDED, shares.prizes), (IDENTITY_LINKED, shares.links)) if share
        )
        self._owed = dict.fromkeys(scenario.pools, 0.0)
        self._seen = Seen()
        self._plan = Plan(scenario.key)
        self._last_ms = scenario.start_ms

    def records(self) -> Iterator[Published]:
        for number in range(self._scenario.matches):
            now_ms = self._moment(number)
            yield from map(self._publish, self._plan.until(now_ms))
            self._happen(pick(self._random, self._ladders), now_ms)
        yield from map(self._publish, self._plan.until(math.inf))

    def _moment(self, number: int) -> int:
        """Return when the match of that number ends: spread evenly, more in the evenings of a run of days."""
        duration_ms = self._scenario.duration_ms
        passed = (number + self._random.random()) / self._scenario.matches * duration_ms
        days = round(duration_ms / DAY_MS)
        if days:
            circle = duration_ms / days / math.tau
            passed -= 0.6 * circle * math.sin(passed / circle)
        return self._scenario.start_ms + int(passed)

    def _publish(self, planned: Planned) -> Published:
        kind, tells = planned.kind, planned.tells
        if isinstance(tells, Played) and tells.reason is None:
            kind = self._seen.match(tells)
        elif isinstance(tells, Linked):
            self._seen.link(*tells)
        return Published(
            planned.topic, planned.key, planned.value, planned.timestamp_ms, _HEADERS, kind, planned.reason
        )

    def _happen(self, ladder: Ladder, now_ms: int) -> None:
        """Plan one match that ends or turns up now, and whatever comes with it."""
        shares, random = self._scenario.shares, self._random
        played = self._late(ladder, now_ms) if random.random() < shares.late else None
        if played is None:
            played = play(random, ladder, now_ms)
        at_ms = self._soon(now_ms)
        analysed = ladder.ruleset == "blitzgammon" and random.random() < shares.analyses
        if analysed:
            at_ms = self._analyse(played, at_ms)
        self._plan_match(at_ms, played)
        if random.random() < shares.duplicate:
            self._repeat(played, at_ms)
        if random.random() < shares.conflict:
            again_ms = self._later(at_ms, played.finished_at_ms, _SECOND_MS, 2 * DAY_MS)
            event = other_content(random, played)
            self._plan.add(again_ms, MATCH_FINISHED, played.event, event, kind=Kind.CONFLICT, reason="conflict")
        if random.random() < shares.invalid:
            self._spoil(ladder, played, at_ms)
        if ladder.ruleset == "gammon42" and shares.prizes:
            self._award(ladder, now_ms)
        if ladder.identities is not None:
            ladder.identities.played((played.winner, played.loser))
            self._sign_up(ladder, ladder.identities, now_ms)

    def _soon(self, now_ms: int) -> int:
        """Return a timestamp shortly after now and not before the last one: servers publish in order."""
        self._last_ms = min(max(self._last_ms, now_ms + between(self._random, 5, 100)), self._scenario.end_ms)
        return self._last_ms

    def _later(self, after_ms: int, happened_ms: int, least_ms: int, most_ms: int) -> int:
        """Return an instant that long after another, or, if the run or the event's time is over then, sooner."""
        later = after_ms + between(self._random, least_ms, most_ms)
        limit = max(after_ms, min(self._scenario.end_ms, happened_ms + _LATEST_MS))
        return later if later <= limit else after_ms + int(self._random.random() * (limit - after_ms + 1))

    def _late(self, ladder: Ladder, now_ms: int) -> Played | None:
        """Return a rated match that ended hours or days ago, of a player who has been seen to play since."""
        for _ in range(_TRIES):
            finished_at_ms = now_ms - between(self._random, HOUR_MS, 20 * DAY_MS)
            played = play(self._random, ladder, finished_at_ms, rated=True)
            for person in (played.winner, played.loser):
                if (self._seen.newest_ms(ladder.pool, person.id) or 0) > finished_at_ms:
                    return played
        return None

    def _analyse(self, played: Played, at_ms: int) -> int:
        """Plan a match's analyses and return when the match itself is to be published: some come before it."""
        random = self._random
        early = random.random() < 0.12
        match_ms = self._later(at_ms, played.finished_at_ms, 500, 10 * MINUTE_MS) if early else at_ms
        moment = at_ms if early else self._later(at_ms, played.finished_at_ms, 2 * _SECOND_MS, 3 * DAY_MS)
        prs = first_prs(random, played)
        again = random.random() < self._scenario.shares.duplicate
        for revision in (1, 2, 3):
            event = analysis(random, played, prs, self._just_before(moment, played), revision)
            kind = _analysis_kind(played, revision, early=early and moment <= match_ms)
            self._plan.add(moment, MATCH_ANALYZED, played.event, event, kind=kind)
            if again:
                kind = kind if kind is Kind.IGNORED_ANALYSIS else Kind.DUPLICATE
                again_ms = self._later(moment, played.finished_at_ms, 10, DAY_MS)
                self._plan.add(again_ms, MATCH_ANALYZED, played.event, event, kind=kind)
                again = False
            if random.random() >= 0.1 * revision:
                break
            prs = flipped_prs(random, played, prs)
            if not early or random.random() < 0.5:
                moment = self._later(max(moment, match_ms), played.finished_at_ms, MINUTE_MS, 2 * DAY_MS)
        if random.random() < 0.02:
            self._plan_unknown(played, at_ms)
        return match_ms

    def _just_before(self, at_ms: int, played: Played) -> int:
        return max(played.finished_at_ms, at_ms - between(self._random, 10, 20 * _SECOND_MS))

    def _plan_unknown(self, played: Played, at_ms: int) -> None:
        """Plan an analysis of a match that was lost on its way, between the same two players."""
        lost = {**played.event, "match_id": f"lost-{self._random.getrandbits(48):012x}"}
        event = analysis(self._random, played._replace(event=lost), first_prs(self._random, played), at_ms, 1)
        self._plan.add(at_ms, MATCH_ANALYZED, lost, event, kind=Kind.UNKNOWN_ANALYSIS)

    def _plan_match(self, at_ms: int, played: Played) -> None:
        kind = Kind.MATCH if played.reason is None else Kind.EXCLUDED
        self._plan.add(at_ms, MATCH_FINISHED, played.event, played.event, kind=kind, reason=played.reason, tells=played)

    def _repeat(self, played: Played, at_ms: int) -> None:
        """Plan the same match again: at once and unchanged, as retries do, or later and written differently."""
        retry = self._random.random() < 0.3
        again_ms = at_ms if retry else self._later(at_ms, played.finished_at_ms, _SECOND_MS, 5 * DAY_MS)
        event = played.event if retry else same_content(self._random, played)
        self._plan.add(again_ms, MATCH_FINISHED, played.event, event, kind=Kind.DUPLICATE)

    def _spoil(self, ladder: Ladder, played: Played, at_ms: int) -> None:
        """Plan one invalid record: made of a match of its own, or an analysis of this one that names a stranger."""
        random = self._random
        own = tuple(topic for topic in self._facts if RULESETS[topic] == ladder.ruleset)
        if self._facts and random.random() < (_FACTS_SPOILED if own else _FOREIGN_FACTS):
            self._spoil_fact(ladder, played, at_ms, own if random.random() < 0.8 else ())
            return
        if ladder.ruleset == "blitzgammon" and played.reason is None and random.random() < 0.2:
            again_ms = self._later(at_ms, played.finished_at_ms, _SECOND_MS, DAY_MS)
            spoiled, key_event = strangers(random, played, again_ms), played.event
        else:
            again_ms = at_ms
            fresh = play(random, ladder, at_ms, rated=True)
            spoiled, key_event = poison(random, fresh, at_ms), fresh.event
        self._plan.add(again_ms, spoiled.topic, key_event, spoiled.value, kind=Kind.INVALID, reason=spoiled.reason)

    def _award(self, ladder: Ladder, now_ms: int) -> None:
        """Plan the prizes of a tournament, once as many are due by their share."""
        random = self._random
        self._owed[ladder.pool] += self._scenario.shares.prizes
        if self._owed[ladder.pool] < 1:
            return
        prizes = tournament(random, ladder.pool, ladder.population, now_ms)
        self._owed[ladder.pool] -= len(prizes)
        at_ms = self._announced(now_ms)
        for event in prizes:
            self._plan.add(at_ms, PRIZE_AWARDED, event, event, kind=Kind.PRIZE)
            self._say_again(PRIZE_AWARDED, event, at_ms, now_ms)

    def _sign_up(self, ladder: Ladder, identities: Identities, now_ms: int) -> None:
        """Plan a link, once one is due by their share, of somebody who has played for a while."""
        self._owed[ladder.pool] += self._scenario.shares.links
        if self._owed[ladder.pool] < 1 or (identity := identities.sign_up(self._random, now_ms)) is None:
            return
        self._owed[ladder.pool] -= 1
        event, at_ms = link(ladder.pool, identity, now_ms), self._announced(now_ms)
        self._plan.add(at_ms, IDENTITY_LINKED, event, event, kind=Kind.LINK, tells=Linked(ladder.pool, identity))
        self._say_again(IDENTITY_LINKED, event, at_ms, now_ms)

    def _announced(self, now_ms: int) -> int:
        at_ms = self._soon(now_ms)
        slow = self._random.random() < _SLOW_SHARE
        return self._later(at_ms, now_ms, 10 * MINUTE_MS, 3 * DAY_MS) if slow else at_ms

    def _say_again(self, topic: str, event: Event, at_ms: int, happened_ms: int) -> None:
        """Plan that a prize or link is repeated, or contradicted, as the shares say."""
        random, shares = self._random, self._scenario.shares
        if random.random() < FEW * shares.duplicate:
            retry = random.random() < 0.3
            again_ms = at_ms if retry else self._later(at_ms, happened_ms, _SECOND_MS, 5 * DAY_MS)
            again = event if retry else same_fact(random, event, _INSTANTS[topic], happened_ms)
            self._plan.add(again_ms, topic, event, again, kind=Kind.DUPLICATE)
        if random.random() < FEW * shares.conflict:
            again_ms = self._later(at_ms, happened_ms, _SECOND_MS, 2 * DAY_MS)
            other, reason = _OTHERS[topic]
            self._plan.add(again_ms, topic, event, other(random, event), kind=Kind.CONFLICT, reason=reason)

    def _spoil_fact(self, ladder: Ladder, played: Played, at_ms: int, topics: tuple[str, ...]) -> None:
        """Plan an invalid prize or link, or a match of somebody who signed up against the same human's other id."""
        random, linked = self._random, self._seen.linked[ladder.pool]
        if linked and random.random() < 0.35:
            event = against_oneself(random, ladder, pick(random, tuple(linked)), at_ms)
            self._plan.add(at_ms, MATCH_FINISHED, event, event, kind=Kind.AGAINST_ONESELF, reason="self-match")
            return
        spoiled, key_event = poison_fact(random, pick(random, topics or self._facts), played, at_ms)
        self._plan.add(at_ms, spoiled.topic, key_event, spoiled.value, kind=Kind.INVALID, reason=spoiled.reason)
