"""An account claims an anonymous id: it takes the history over if it has none of its own, and the id retires."""

from msgspec.structs import replace

from worker.ratings.delivery import Delivery
from worker.ratings.events import IdentityLinked
from worker.ratings.outcome import Cause, Change, Changes, Kind, Outcome, refuse
from worker.ratings.refusal import Reason, Refusal
from worker.ratings.rows import Link, Row, new_row
from worker.ratings.state import State
from worker.rules.ruleset import Ruleset

BEHIND_HORIZON = Refusal(
    Reason.TOO_LATE, "The link at /linked_at is from before this pool's horizon; nothing that old is applied any more."
)
ALREADY_LINKED = "{} is part of another link already: an id is linked once, and to one other id only."


def decide_link(rules: Ruleset, linked: IdentityLinked, delivery: Delivery, state: State) -> Outcome:
    """Return what one `identity-linked` event does to its pool."""
    anonymous_id, account_id = linked.anonymous_id, linked.account_id
    named = ("", (account_id, anonymous_id), linked.linked_at_ms)
    if linked.linked_at_ms < state.horizon_ms:
        return refuse(*named, delivery, BEHIND_HORIZON)
    for pointer, link in (
        ("/anonymous_id", state.links.get(anonymous_id)),
        ("/account_id", state.links.get(account_id)),
    ):
        if link is not None:
            if (link.anonymous_id, link.account_id) == (anonymous_id, account_id):
                return Outcome(Kind.DUPLICATE, *named)
            return refuse(*named, delivery, Refusal(Reason.ALREADY_LINKED, ALREADY_LINKED.format(pointer)))
    return _link(rules, linked, delivery, state)


def _link(rules: Ruleset, linked: IdentityLinked, delivery: Delivery, state: State) -> Outcome:
    anonymous_id, account_id, source = linked.anonymous_id, linked.account_id, str(delivery.source)
    anonymous_row, account_row = state.rows.get(anonymous_id), state.rows.get(account_id)
    anonymous, account = (row or new_row(rules.starting_rating) for row in (anonymous_row, account_row))
    takes_over = account.rated_games == 0
    after = _taken_over(account, anonymous) if takes_over else account
    claimed = replace(after, seq=account.seq + 1, last_source=source)
    retired = replace(anonymous, seq=anonymous.seq + 1, last_source=source, retired=True)
    return Outcome(
        Kind.LINKED,
        "",
        (account_id, anonymous_id),
        linked.linked_at_ms,
        rows=((account_id, claimed, account_row), (anonymous_id, retired, anonymous_row)),
        on_leaderboard=frozenset(
            (account_id,) if rules.on_leaderboard(claimed.rated_games, claimed.experience) else ()
        ),
        changes=Changes(
            Cause("identity-linked", anonymous_id, {"anonymous_id": anonymous_id, "account_id": account_id}),
            (
                _change(account_id, account, claimed, None),
                _change(anonymous_id, anonymous, retired, account_id),
            ),
        ),
        link=Link(
            anonymous_id,
            account_id,
            linked.linked_at_ms,
            delivery.source,
            takes_over,
            anonymous.rating,
            anonymous.rated_games,
        ),
    )


def _taken_over(account: Row, anonymous: Row) -> Row:
    return replace(
        account,
        rating=anonymous.rating,
        rated_games=anonymous.rated_games,
        newest_finished_at_ms=anonymous.newest_finished_at_ms,
    )


def _change(player_id: str, before: Row, after: Row, linked_to: str | None) -> Change:
    return Change(player_id, after.seq, before.rating, after.rating, False, after.rated_games, None, {}, linked_to)
