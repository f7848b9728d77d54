"""Prizes and links as their platforms publish them, and what contradicts them."""

from random import Random

from worker.cli.simulation.chance import pick, weighted
from worker.cli.simulation.identities import Identity
from worker.cli.simulation.people import Population, device, newcomer
from worker.cli.simulation.platforms import Event
from worker.ratings.instants import format_instant

_AMOUNTS = weighted((5, (20, 10, 5)), (4, (50, 30, 20, 10)), (1, (100, 60, 40, 25)))
"""What the first places of a tournament get, in rating points."""
_CUPS = ("evening", "weekend", "league/round", "open")
_UNRANKED_SHARE = 0.08


def tournament(random: Random, pool: str, population: Population, awarded_at_ms: int) -> list[Event]:
    """Return the prizes of one tournament, first place first; now and then one goes to somebody without a game."""
    instant = format_instant(awarded_at_ms)
    tournament_id = f"{pick(random, _CUPS)}-{instant[:10]}@{random.getrandbits(40):010x}"
    taken: set[str] = set()
    prizes: list[Event] = []
    for place, amount in enumerate(pick(random, _AMOUNTS), 1):
        player_id = population.draw(random).id
        if player_id in taken or random.random() < _UNRANKED_SHARE:
            player_id = newcomer(random).id
        taken.add(player_id)
        prizes.append(prize(pool, tournament_id, player_id, place, amount, instant))
    return prizes


def prize(pool: str, tournament_id: str, player_id: str, place: int, amount: int, awarded_at: str) -> Event:
    """Return the event of one prize."""
    return {
        "tournament_id": tournament_id,
        "pool": pool,
        "player_id": player_id,
        "place": place,
        "amount": amount,
        "awarded_at": awarded_at,
    }


def other_prize(random: Random, event: Event) -> Event:
    """Return a prize of the same tournament and player that says another place or amount."""
    name = "amount" if random.random() < 0.6 else "place"
    said = event[name]
    assert isinstance(said, int)  # noqa: S101 - made above
    return {**event, name: said + 1 + int(random.random() * 10)}


def link(pool: str, identity: Identity, linked_at_ms: int) -> Event:
    """Return the event that links an identity's two ids."""
    return {
        "pool": pool,
        "anonymous_id": identity.anonymous.id,
        "account_id": identity.account.id,
        "linked_at": format_instant(linked_at_ms),
    }


def other_link(random: Random, event: Event) -> Event:
    """Return another link of one of the two ids, in the same role or the other one."""
    anonymous_id, account_id = event["anonymous_id"], event["account_id"]
    chosen = random.random()
    if chosen < 0.35:
        return {**event, "account_id": newcomer(random).id}
    if chosen < 0.7:
        return {**event, "anonymous_id": device(random)}
    if chosen < 0.8:
        return {**event, "anonymous_id": account_id, "account_id": newcomer(random).id}
    if chosen < 0.9:
        return {**event, "anonymous_id": device(random), "account_id": anonymous_id}
    return {**event, "anonymous_id": account_id, "account_id": anonymous_id}
