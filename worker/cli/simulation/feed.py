"""The run itself: matches in the order in which they end, and what follows from each, in order of record timestamp."""

import math
from collections.abc import Iterator
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

import orjson

from worker.cli.simulation.analyses import analysis, first_prs, flipped_prs
from worker.cli.simulation.chance import between, pick
from worker.cli.simulation.people import populate
from worker.cli.simulation.platforms import Event, Ladder, Played, play
from worker.cli.simulation.poison import RETENTION_DAYS, poison, strangers
from worker.cli.simulation.repeats import other_content, same_content
from worker.cli.simulation.scenario import (
    DAY_MS,
    HOUR_MS,
    MATCH_ANALYZED,
    MATCH_FINISHED,
    MINUTE_MS,
    Kind,
    Published,
    Scenario,
)

_HEADERS = (("content-type", b"application/json"),)
_SECOND_MS = 1000
_LATEST_MS = (RETENTION_DAYS - 1) * DAY_MS
"""No repetition or analysis comes later than this after its match, so that none is `too-late`."""
_TRIES = 20


class _Planned(NamedTuple):
    """A record that waits for its moment; `number` keeps the order of what shares a timestamp."""

    timestamp_ms: int
    number: int
    topic: str
    key: bytes
    value: bytes | None
    kind: Kind
    reason: str | None
    played: Played | None


def simulate(scenario: Scenario) -> Iterator[Published]:
    """Yield the scenario's records in order of their timestamps, a few thousand matches in memory at most.

    What is wrong on purpose is certain: a record labelled conflict or invalid is refused for its `reason` by any
    worker that has seen the records before it, and one labelled late is late for one of its players.
    """
    return _Feed(scenario).records()


def _analysis_kind(played: Played, revision: int, *, early: bool) -> Kind:
    if played.reason is not None:
        return Kind.IGNORED_ANALYSIS
    if early:
        return Kind.EARLY_ANALYSIS
    return Kind.ANALYSIS if revision == 1 else Kind.REVISION


class _Feed:
    """The state of one run: what is planned, and until when each player has been seen to play."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._random = Random(f"matches/{scenario.seed}/{scenario.start_ms}")  # noqa: S311 - a simulation
        self._ladders = tuple(
            Ladder(pool, ruleset, populate(scenario.seed, pool, ruleset, scenario.players), scenario.plain)
            for pool, ruleset in scenario.pools.items()
        )
        self._newest: dict[tuple[str, str], int] = {}
        self._planned: list[_Planned] = []
        self._count = 0
        self._last_ms = scenario.start_ms

    def records(self) -> Iterator[Published]:
        for number in range(self._scenario.matches):
            now_ms = self._moment(number)
            while self._planned and self._planned[0].timestamp_ms < now_ms:
                yield self._publish(heappop(self._planned))
            self._happen(pick(self._random, self._ladders), now_ms)
        while self._planned:
            yield self._publish(heappop(self._planned))

    def _moment(self, number: int) -> int:
        """Return when the match of that number ends: spread evenly, more in the evenings of a run of days."""
        duration_ms = self._scenario.duration_ms
        passed = (number + self._random.random()) / self._scenario.matches * duration_ms
        days = round(duration_ms / DAY_MS)
        if days:
            circle = duration_ms / days / math.tau
            passed -= 0.6 * circle * math.sin(passed / circle)
        return self._scenario.start_ms + int(passed)

    def _publish(self, planned: _Planned) -> Published:
        kind = planned.kind
        if planned.played is not None and planned.played.reason is None:
            kind = self._seen(planned.played)
        return Published(
            planned.topic, planned.key, planned.value, planned.timestamp_ms, _HEADERS, kind, planned.reason
        )

    def _seen(self, played: Played) -> Kind:
        """Note that both players have been seen to play, and return whether this came late for one of them."""
        kind = Kind.MATCH
        for person in (played.winner, played.loser):
            player = (str(played.event["pool"]), person.id)
            newest = self._newest.get(player, played.finished_at_ms)
            if newest > played.finished_at_ms:
                kind = Kind.LATE
            else:
                self._newest[player] = played.finished_at_ms
        return kind

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
            again_ms = self._later(at_ms, played, _SECOND_MS, 2 * DAY_MS)
            event = other_content(random, played)
            self._plan(again_ms, MATCH_FINISHED, played.event, event, kind=Kind.CONFLICT, reason="conflict")
        if random.random() < shares.invalid:
            self._spoil(ladder, played, at_ms)

    def _soon(self, now_ms: int) -> int:
        """Return a timestamp shortly after now and not before the last one: servers publish in order."""
        self._last_ms = min(max(self._last_ms, now_ms + between(self._random, 5, 100)), self._scenario.end_ms)
        return self._last_ms

    def _later(self, after_ms: int, played: Played, least_ms: int, most_ms: int) -> int:
        """Return an instant that long after another, or, if the run or the match's time is over then, sooner."""
        later = after_ms + between(self._random, least_ms, most_ms)
        limit = max(after_ms, min(self._scenario.end_ms, played.finished_at_ms + _LATEST_MS))
        return later if later <= limit else after_ms + int(self._random.random() * (limit - after_ms + 1))

    def _late(self, ladder: Ladder, now_ms: int) -> Played | None:
        """Return a rated match that ended hours or days ago, of a player who has been seen to play since."""
        for _ in range(_TRIES):
            finished_at_ms = now_ms - between(self._random, HOUR_MS, 20 * DAY_MS)
            played = play(self._random, ladder, finished_at_ms, rated=True)
            for person in (played.winner, played.loser):
                if self._newest.get((ladder.pool, person.id), 0) > finished_at_ms:
                    return played
        return None

    def _analyse(self, played: Played, at_ms: int) -> int:
        """Plan a match's analyses and return when the match itself is to be published: some come before it."""
        random = self._random
        early = random.random() < 0.12
        match_ms = self._later(at_ms, played, 500, 10 * MINUTE_MS) if early else at_ms
        moment = at_ms if early else self._later(at_ms, played, 2 * _SECOND_MS, 3 * DAY_MS)
        prs = first_prs(random, played)
        again = random.random() < self._scenario.shares.duplicate
        for revision in (1, 2, 3):
            event = analysis(random, played, prs, self._just_before(moment, played), revision)
            kind = _analysis_kind(played, revision, early=early and moment <= match_ms)
            self._plan(moment, MATCH_ANALYZED, played.event, event, kind=kind)
            if again:
                kind = kind if kind is Kind.IGNORED_ANALYSIS else Kind.DUPLICATE
                again_ms = self._later(moment, played, 10, DAY_MS)
                self._plan(again_ms, MATCH_ANALYZED, played.event, event, kind=kind)
                again = False
            if random.random() >= 0.1 * revision:
                break
            prs = flipped_prs(random, played, prs)
            if not early or random.random() < 0.5:
                moment = self._later(max(moment, match_ms), played, MINUTE_MS, 2 * DAY_MS)
        if random.random() < 0.02:
            self._plan_unknown(played, at_ms)
        return match_ms

    def _just_before(self, at_ms: int, played: Played) -> int:
        return max(played.finished_at_ms, at_ms - between(self._random, 10, 20 * _SECOND_MS))

    def _plan_unknown(self, played: Played, at_ms: int) -> None:
        """Plan an analysis of a match that was lost on its way, between the same two players."""
        lost = {**played.event, "match_id": f"lost-{self._random.getrandbits(48):012x}"}
        event = analysis(self._random, played._replace(event=lost), first_prs(self._random, played), at_ms, 1)
        self._plan(at_ms, MATCH_ANALYZED, lost, event, kind=Kind.UNKNOWN_ANALYSIS)

    def _plan_match(self, at_ms: int, played: Played) -> None:
        kind = Kind.MATCH if played.reason is None else Kind.EXCLUDED
        self._plan(at_ms, MATCH_FINISHED, played.event, played.event, kind=kind, reason=played.reason, played=played)

    def _repeat(self, played: Played, at_ms: int) -> None:
        """Plan the same match again: at once and unchanged, as retries do, or later and written differently."""
        retry = self._random.random() < 0.3
        again_ms = at_ms if retry else self._later(at_ms, played, _SECOND_MS, 5 * DAY_MS)
        event = played.event if retry else same_content(self._random, played)
        self._plan(again_ms, MATCH_FINISHED, played.event, event, kind=Kind.DUPLICATE)

    def _spoil(self, ladder: Ladder, played: Played, at_ms: int) -> None:
        """Plan one invalid record: made of a match of its own, or an analysis of this one that names a stranger."""
        random = self._random
        if ladder.ruleset == "blitzgammon" and played.reason is None and random.random() < 0.2:
            again_ms = self._later(at_ms, played, _SECOND_MS, DAY_MS)
            spoiled, key_event = strangers(random, played, again_ms), played.event
        else:
            again_ms = at_ms
            fresh = play(random, ladder, at_ms, rated=True)
            spoiled, key_event = poison(random, fresh, at_ms), fresh.event
        self._plan(again_ms, spoiled.topic, key_event, spoiled.value, kind=Kind.INVALID, reason=spoiled.reason)

    def _plan(
        self,
        at_ms: int,
        topic: str,
        key_event: Event,
        value: Event | bytes | None,
        *,
        kind: Kind,
        reason: str | None = None,
        played: Played | None = None,
    ) -> None:
        key = str(key_event["pool" if self._scenario.key == "pool" else "match_id"]).encode()
        written = orjson.dumps(value) if isinstance(value, dict) else value
        self._count += 1
        heappush(self._planned, _Planned(at_ms, self._count, topic, key, written, kind, reason, played))
