"""Anonymous players who sign up: as whom they go on, and what they still play from devices that are logged out."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from worker.cli.simulation.chance import shuffled
from worker.cli.simulation.people import Person, Population, newcomer

_KNOWN_SHARE = 0.3
"""Sign-ups to an account that plays already, as far as there are accounts."""
_LOGGED_OUT_SHARE = 0.3
"""Matches after the sign-up that still come under the anonymous id."""
_A_WHILE = 3
"""Matches that somebody plays before signing up."""


class Identity(NamedTuple):
    """One human with two ids, the anonymous device's and the account's."""

    anonymous: Person
    account: Person


class Identities:
    """The anonymous players of one pool, the accounts that they sign up to, and who has done so by now.

    Who signs up to which account follows from seed and pool alone, so that a later run of the same seed repeats the
    links of this one, and never links an id to another account.
    """

    def __init__(self, seed: int, pool: str, population: Population) -> None:
        random = Random(f"identities/{seed}/{pool}")  # noqa: S311 - a simulation
        persons = population.persons
        known = shuffled(random, (person for person in persons if person.kind == "account"))
        self._accounts: dict[str, Identity] = {}
        self._humans: dict[str, str] = {}
        for person in persons:
            if person.kind != "anonymous":
                continue
            # Of two players in all, both would be one human, and nobody left to play.
            if known and len(persons) > 2 and random.random() < _KNOWN_SHARE:
                account = known.pop()
                self._humans[account.id] = person.id
            else:
                account = person._replace(id=newcomer(random).id, kind="account")
            self._accounts[person.id] = Identity(person, account)
        self._games: Counter[str] = Counter()
        self._ready: list[Identity] = []
        self._since_ms: dict[str, int] = {}

    def pair(self, random: Random, population: Population, at_ms: int) -> tuple[Person, Person]:
        """Return two different humans of the population, under the ids of that instant (UTC milliseconds)."""
        first, second = population.pair(random)
        while self._humans.get(first.id, first.id) == self._humans.get(second.id, second.id):
            first, second = population.pair(random)
        return self._seated(random, first, at_ms), self._seated(random, second, at_ms)

    def played(self, persons: Iterable[Person]) -> None:
        """Note that these have played: after a few matches an anonymous one is ready to sign up."""
        for person in persons:
            if person.id in self._accounts:
                self._games[person.id] += 1
                if self._games[person.id] == _A_WHILE:
                    self._ready.append(self._accounts[person.id])

    def sign_up(self, random: Random, now_ms: int) -> Identity | None:
        """Return who signs up at that instant (UTC milliseconds), None if nobody is ready to."""
        if not self._ready:
            return None
        identity = self._ready.pop(int(random.random() * len(self._ready)))
        self._since_ms[identity.anonymous.id] = now_ms
        return identity

    def _seated(self, random: Random, person: Person, at_ms: int) -> Person:
        since_ms = self._since_ms.get(person.id)
        if since_ms is None or at_ms < since_ms or random.random() < _LOGGED_OUT_SHARE:
            return person
        return self._accounts[person.id].account
