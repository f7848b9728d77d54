"""An anonymous id that an account has claimed, in words."""

from collections.abc import Mapping

from worker.cli.explain.told import Told
from worker.cli.words import count, moment, shown_id, shown_rating
from worker.ratings.instants import format_instant
from worker.ratings.rows import Link, Row
from worker.rules.pools import Pool


def claimed(pool: Pool, link: Link, rows: Mapping[str, Row]) -> Told:
    """Return what a link did, and how the account of `rows` stands now."""
    anonymous, account = shown_id(link.anonymous_id), shown_id(link.account_id)
    now = rows.get(link.account_id)
    says = [
        f"{anonymous} is linked to the account {account} in {pool.name}, since {moment(link.linked_at_ms)} "
        f"(position {link.position} of the pool; it came as {link.source}).",
        history(link),
        f"{anonymous} is retired: it is off the leaderboard, and its own rating does not change any more. "
        f"{later(link)}",
        "An id is linked once, and to one other id only.",
    ]
    if now is not None:
        says.append(f"{account} stands at {shown_rating(now.rating)} after {count(now.rated_games, 'rated game')} now.")
    facts = {
        "pool": pool.name,
        "anonymous_id": link.anonymous_id,
        "account_id": link.account_id,
        "linked_at": format_instant(link.linked_at_ms),
        "took_over": link.took_over,
        "anonymous_rating": link.rating,
        "anonymous_rated_games": link.rated_games,
        "position": link.position,
        "source": str(link.source),
        "account_rating": None if now is None else now.rating,
        "account_rated_games": None if now is None else now.rated_games,
    }
    return Told(tuple(says), facts)


def history(link: Link) -> str:
    """Return what became of the ratings of both ids, and by which rule."""
    anonymous, account = shown_id(link.anonymous_id), shown_id(link.account_id)
    had = f"a rating of {shown_rating(link.rating)} after {count(link.rated_games, 'rated game')}"
    if link.took_over:
        return f"{account} had no rated game by then, so it took over what {anonymous} had: {had}."
    return (
        f"{account} had rated games of its own by then, so it kept its own rating and games. What {anonymous} had, "
        f"{had}, was not added to them: two histories are never added together."
    )


def later(link: Link) -> str:
    """Return what becomes of matches that come after a link."""
    anonymous, account = shown_id(link.anonymous_id), shown_id(link.account_id)
    return (
        f"Matches of {anonymous} that come after the link count for {account}, also late ones, and a new match between "
        "the two is refused as one against oneself (self-match)."
    )
