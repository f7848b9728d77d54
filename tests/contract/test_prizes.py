"""Prizes among matches, by two workers: each is paid once, and is no game."""

from dataclasses import dataclass, field
from math import log2
from typing import Any

from hypothesis import strategies as st

from tests.contract.ledger import Answer, Ledger, Sent, half_away, refused
from tests.contract.two_workers import TwoWorkers, run_on
from tests.ratings.ladder import AT, DAY, HOUR, SECOND, awarded, finished, instant_of, pool_of
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.tables.tables import PoolTables, Wanted

NAMES = ["ann", "bob", "cem"]
PAIRS = st.sampled_from([(one, other) for one in NAMES for other in NAMES if one != other])
MATCH_IDS = st.integers(0, 25).map(lambda number: f"m-{number}")
TOURNAMENTS = st.integers(0, 5).map(lambda number: f"t-{number}")
INSTANTS = st.sampled_from([AT + shift for shift in (-7 * DAY - 1, -7 * DAY, -HOUR, 0, 0, 1, HOUR)])
HEAVY_GAMES = 4

MATCHES = st.builds(
    lambda match_id, pair, at, cube, mode: finished("gammon42", match_id, *pair, at=at, cube=cube, mode=mode),
    MATCH_IDS,
    PAIRS,
    INSTANTS,
    st.sampled_from([1, 2, 64]),
    st.sampled_from(["ranked"] * 5 + ["boosted", "tournament"]),
)
PRIZES = st.builds(
    lambda tournament_id, player_id, amount, place, at: awarded(tournament_id, player_id, amount, place, at=at),
    TOURNAMENTS,
    st.sampled_from([*NAMES, "zoe"]),
    st.sampled_from([25, 25, 25, 100_000]),
    st.sampled_from([1, 1, 1, 2]),
    INSTANTS,
)


@dataclass
class Prizes(Ledger):
    """Who was paid what by which tournament, and when each player's ranked games were."""

    paid: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    games: list[tuple[str, int, str]] = field(default_factory=list)

    def answer(self, sent: Sent) -> Answer:
        if instant_of(sent.event) < self.horizon_ms:
            return refused(Reason.TOO_LATE)
        return self._match(sent.event) if hasattr(sent.event, "match_id") else self._prize(sent.event)

    def _prize(self, prize: Any) -> Answer:
        key, what = (prize.tournament_id, prize.player_id), (prize.place, prize.amount)
        if key in self.paid:
            return Answer(Kind.DUPLICATE) if self.paid[key] == what else refused(Reason.CONFLICT)
        self.paid[key] = what
        cause = {"type": "tournament-prize-awarded", "tournament_id": prize.tournament_id, "place": prize.place}
        return Answer(Kind.AWARDED, [self.move(prize.player_id, prize.amount, cause, prize.awarded_at_ms)])

    def _match(self, match: Any) -> Answer:
        if (known := self.known_already(match)) is not None:
            return known
        self.known[match.match_id] = self.content(match)
        if match.mode != "ranked":
            return Answer(Kind.EXCLUDED)
        winner, loser = match.winner.id, match.loser.id
        ratings = self.player(winner).rating, self.player(loser).rating
        expected = 1 / (1 + 10.0 ** ((ratings[1] - ratings[0]) / 1200))
        sides = ((winner, loser, ratings[1], expected), (loser, winner, ratings[0], 1 - expected))
        counts = [self._games(match, name) for name in (winner, loser)]
        changes = [self._side(match, *side, count) for side, count in zip(sides, counts, strict=True)]
        self.games += [(name, match.finished_at_ms, match.match_id) for name in (winner, loser)]
        return Answer(Kind.RATED, changes)

    def _games(self, match: Any, name: str) -> int:
        """Count the ranked games in [finished_at - 168 h, finished_at), those at the same instant by match_id."""
        this = match.finished_at_ms, match.match_id
        return sum(
            player == name and at >= this[0] - 168 * HOUR and (at, match_id) < this
            for player, at, match_id in self.games
        )

    def _side(
        self, match: Any, own_id: str, other_id: str, other: int, expected: float, games_in_window: int
    ) -> dict[str, Any]:
        k, coefficient = 16 if games_in_window >= HEAVY_GAMES else 32, 1 + log2(match.cube) / 6
        won = own_id == match.winner.id
        details = {
            "result": "win" if won else "loss",
            "opponent_id": other_id,
            "opponent_rating": other,
            "expected": expected,
            "k": k,
            "divisor": 1200,
            "cube": match.cube,
            "coefficient": coefficient,
            "formula_version": "1.3.1",
            "games_in_window": games_in_window,
        }
        change = half_away(k * (int(won) - expected) * coefficient)
        return self.played(own_id, change, match, details)


class Awarding(TwoWorkers):
    pool = pool_of("gammon42", heavy_games=HEAVY_GAMES)
    horizons = st.sampled_from([AT - 8 * DAY, AT - 7 * DAY, AT - 7 * DAY, AT - HOUR])

    def ledger(self) -> Ledger:
        return Prizes("gammon42", 1500)

    def events(self) -> st.SearchStrategy[Sent]:
        return st.one_of(MATCHES, PRIZES).map(lambda event: Sent(event, instant_of(event) + SECOND))

    def teardown(self) -> None:
        paid = self.model.paid

        async def prizes(tables: PoolTables) -> Any:
            return (await tables.load(Wanted(prizes=[*paid, ("t-0", "nobody")]))).prizes

        kept = self.workers[1].ask(prizes)
        assert {key: (prize.place, prize.amount) for key, prize in kept.items()} == paid
        events = {
            (change["cause"]["tournament_id"], change["player_id"]): change
            for change in self.published
            if "tournament_id" in change["cause"]
        }
        assert {key: (prize.position, prize.before) for key, prize in kept.items()} == {
            key: (change["position"], change["before"]) for key, change in events.items()
        }
        super().teardown()


def test_a_prize_is_paid_once_and_is_no_game(redis_server):
    run_on(redis_server.url, Awarding, examples=40)
