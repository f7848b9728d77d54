"""What a prize or a link is to what is known, in words."""

from collections.abc import Mapping

from worker.cli.explain.judged import NOTHING, Difference, Judged, answered
from worker.cli.explain.link import later
from worker.cli.explain.prize import NO_GAME
from worker.cli.words import count, shown_id
from worker.ratings.events import IdentityLinked, TournamentPrizeAwarded
from worker.ratings.outcome import Kind
from worker.ratings.rows import Link, Prize


def on_prize(judged: Judged, awarded: TournamentPrizeAwarded) -> list[str]:
    """Return what a prize would do that is not refused."""
    name = f"The prize of {shown_id(awarded.tournament_id)} for {shown_id(awarded.player_id)}"
    known = judged.known.prize
    if judged.outcome.kind is Kind.DUPLICATE and known is not None:
        again = f"{name} is paid already, for the same place and amount: this is a duplicate."
        return [f"{again} {answered(known)} stands.", NOTHING]
    return [
        f"{name} is not known in {judged.pool.name} yet. It would be paid: {count(awarded.amount, 'point')} for place "
        f"{awarded.place:,}, on the rating that {shown_id(awarded.player_id)} has when a worker applies it.",
        NO_GAME,
    ]


def differing_prize(awarded: TournamentPrizeAwarded, known: Prize) -> Difference:
    """Return by what a prize is a conflict with the one that was paid."""
    if awarded.place != known.place:
        return Difference("/place", awarded.place, known.place)
    return Difference("/amount", awarded.amount, known.amount)


def on_link(judged: Judged, linked: IdentityLinked) -> list[str]:
    """Return what a link would do that is not refused."""
    anonymous, account = shown_id(linked.anonymous_id), shown_id(linked.account_id)
    known = judged.known.links.get(linked.anonymous_id)
    if judged.outcome.kind is Kind.DUPLICATE and known is not None:
        return [f"{anonymous} is linked to {account} already: this is a duplicate. {answered(known)} stands.", NOTHING]
    link = judged.outcome.link
    if link is None:
        raise ValueError(f"a link is refused, known or made, not {judged.outcome.kind}")
    history = (
        f"{account} has no rated game as things stand, so it would take over the rating and games of {anonymous}"
        if link.took_over
        else f"{account} has rated games of its own, so it would keep its own rating and games"
    )
    return [
        f"Neither {anonymous} nor {account} is linked in {judged.pool.name} yet: they would be. {history}, and "
        f"{anonymous} would retire.",
        later(link),
    ]


def links_that_stand(links: Mapping[str, Link]) -> list[str]:
    """Return the links that are in the way, each once."""
    standing = {link.anonymous_id: link for link in links.values()}
    return [
        f"{shown_id(link.anonymous_id)} is linked to {shown_id(link.account_id)}. {answered(link)} stands."
        for link in standing.values()
    ]
