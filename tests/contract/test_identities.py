"""Accounts and anonymous ids that are linked, in whatever order, by two workers: their histories are never mixed up."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.contract.ledger import Answer, Ledger, Sent, half_away, refused
from tests.contract.two_workers import TwoWorkers, run_on
from tests.ratings.ladder import AT, HOUR, SECOND, finished, instant_of, linked, pool_of
from worker.ratings.outcome import Kind
from worker.ratings.refusal import Reason
from worker.tables.tables import PoolTables, Wanted

IDS = ["anon-1", "anon-2", "ann", "bob", "cem"]
PAIRS = st.sampled_from([(one, other) for one in IDS for other in IDS if one != other])
MATCH_IDS = st.integers(0, 25).map(lambda number: f"m-{number}")
INSTANTS = st.integers(-3, 3).map(lambda hours: AT + hours * HOUR)


@st.composite
def matches(draw: st.DrawFn) -> Any:
    mode = draw(st.sampled_from(["ranked"] * 5 + ["bot"]))
    kinds = draw(st.sampled_from([("account", "account"), ("anonymous", "account")]))
    match = finished("season0", draw(MATCH_IDS), *draw(PAIRS), at=draw(INSTANTS), kinds=kinds, mode=mode)
    return replace(match, same_network=draw(st.integers(0, 9)) == 0)


LINKS = st.builds(lambda pair, at: linked(*pair, at=at), PAIRS, INSTANTS)


@dataclass
class Identities(Ledger):
    """Who is linked to whom: an anonymous id's games count for its account from then on."""

    account_of: dict[str, str] = field(default_factory=dict)

    def answer(self, sent: Sent) -> Answer:
        if instant_of(sent.event) < self.horizon_ms:
            return refused(Reason.TOO_LATE)
        return self._match(sent.event) if hasattr(sent.event, "match_id") else self._link(sent.event)

    def content(self, match: Any) -> tuple[Any, ...]:
        return (*super().content(match), match.winner.kind, match.loser.kind, match.same_network)

    def _match(self, match: Any) -> Answer:
        if (known := self.known_already(match)) is not None:
            return known
        winner, loser = (self.account_of.get(side.id, side.id) for side in (match.winner, match.loser))
        if winner == loser:
            return refused(Reason.SELF_MATCH)
        self.known[match.match_id] = self.content(match)
        if match.mode == "bot" or match.same_network:
            return Answer(Kind.EXCLUDED)
        ratings = self.player(winner).rating, self.player(loser).rating
        sides = ((winner, loser, *ratings, 1), (loser, winner, *ratings[::-1], 0))
        return Answer(Kind.RATED, [self._side(match, *side) for side in sides])

    def _side(self, match: Any, own_id: str, other_id: str, own: int, other: int, result: int) -> dict[str, Any]:
        expected = 1 / (1 + 10.0 ** ((other - own) / 400))
        details = {
            "result": "win" if result else "loss",
            "opponent_id": other_id,
            "opponent_rating": other,
            "expected": expected,
            "k": 16,
            "divisor": 400,
        }
        return self.played(own_id, half_away(16 * (result - expected)), match, details)

    def _link(self, link: Any) -> Answer:
        anonymous_id, account_id = link.anonymous_id, link.account_id
        if self.account_of.get(anonymous_id) == account_id:
            return Answer(Kind.DUPLICATE)
        if {anonymous_id, account_id} & {*self.account_of, *self.account_of.values()}:
            return refused(Reason.ALREADY_LINKED)
        self.account_of[anonymous_id] = account_id
        anonymous, account = self.player(anonymous_id), self.player(account_id)
        change = 0
        if account.games == 0:
            change = anonymous.rating - account.rating
            account.games, account.newest_ms = anonymous.games, anonymous.newest_ms
        anonymous.retired = True
        cause = {"type": "identity-linked", "anonymous_id": anonymous_id, "account_id": account_id}
        at_ms = link.linked_at_ms
        return Answer(
            Kind.LINKED,
            [
                self.move(account_id, change, cause, at_ms),
                self.move(anonymous_id, 0, cause, at_ms, retired=True, linked_to=account_id),
            ],
        )


class Linking(TwoWorkers):
    pool = pool_of("season0")
    horizons = st.sampled_from([AT - 9 * HOUR, AT - 3 * HOUR, AT - 2 * HOUR, AT - HOUR])

    def ledger(self) -> Ledger:
        return Identities("season0", 1200)

    def events(self) -> st.SearchStrategy[Sent]:
        return st.one_of(matches(), matches(), LINKS).map(lambda event: Sent(event, instant_of(event) + SECOND))

    def teardown(self) -> None:
        async def linked_ids(tables: PoolTables) -> Any:
            return (await tables.load(Wanted(IDS))).links

        links = self.workers[1].ask(linked_ids)
        account_of = self.model.account_of
        assert {name: (link.anonymous_id, link.account_id) for name, link in links.items()} == {
            name: pair for pair in account_of.items() for name in pair
        }
        last_of = {change["player_id"]: change for change in self.published}
        for anonymous_id, account_id in account_of.items():
            assert last_of[anonymous_id]["linked_to"] == account_id
            assert last_of[anonymous_id]["position"] == links[anonymous_id].position
        super().teardown()


def test_linked_histories_are_taken_over_or_kept_and_never_mixed_up(redis_server):
    run_on(redis_server.url, Linking, examples=60)
