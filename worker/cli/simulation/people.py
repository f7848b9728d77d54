"""The players of a pool: who they are, how strong, and how much they play."""

from bisect import bisect
from itertools import accumulate
from random import Random
from typing import NamedTuple

from worker.cli.simulation.chance import pick

_NAMES = (
    *("ann", "ben", "carla", "dov", "elif", "femke", "george", "hana", "igor", "jonas", "kaan", "leila", "marta"),
    *("nikos", "olga", "pavel", "quentin", "rosa", "samir", "teresa", "ulla", "viktor", "wendy", "yael", "zeynep"),
    *("zoë", "søren", "łukasz", "josé", "şule", "ağa", "мария", "Γιώργος", "日向", "O'Brien"),
)
_BOTS = ("bot-luzia", "bot-gnu-2ply", "bot-gnu-0ply", "bot-tesauro")
_ACTIVITY_SIGMA = 1.2
"""Spread of the lognormal activity: of 500 players the busiest plays about 15 times the average."""
_STRENGTH_SIGMA = 180.0
_ANONYMOUS_SHARE = 0.25


class Person(NamedTuple):
    """A player: `strength` in rating points around 0, hidden from everyone; `pr` the usual performance rating."""

    id: str
    kind: str
    strength: float
    pr: float


class Population(NamedTuple):
    """A pool's players with their activity, summed up for drawing, and its bots."""

    persons: tuple[Person, ...]
    activity: tuple[float, ...]
    bots: tuple[Person, ...]

    def draw(self, random: Random) -> Person:
        """Return a player, the active ones more often."""
        return self.persons[bisect(self.activity, random.random() * self.activity[-1], hi=len(self.persons) - 1)]

    def pair(self, random: Random) -> tuple[Person, Person]:
        """Return two different players."""
        first = self.draw(random)
        second = self.draw(random)
        while second is first:
            second = self.draw(random)
        return first, second


def populate(seed: int, pool: str, ruleset: str, players: int) -> Population:
    """Return the pool's players, the same for the same arguments; a quarter of Season 0's are anonymous devices."""
    random = Random(f"people/{seed}/{pool}")  # noqa: S311 - a simulation
    taken: set[str] = set()
    persons: list[Person] = []
    while len(persons) < players:
        anonymous = ruleset == "season0" and random.random() < _ANONYMOUS_SHARE
        name = device(random) if anonymous else f"{pick(random, _NAMES)}-{_suffix(random)}"
        if name not in taken:
            taken.add(name)
            persons.append(_person(random, name, "anonymous" if anonymous else "account"))
    activity = tuple(accumulate(random.lognormvariate(0, _ACTIVITY_SIGMA) for _ in persons))
    return Population(tuple(persons), activity, tuple(_person(random, name, "bot") for name in _BOTS))


def guest(random: Random) -> Person:
    """Return somebody who plays once without an account."""
    kind = "guest" if random.random() < 0.5 else "anonymous"
    return _person(random, f"{kind}-{random.getrandbits(32):08x}", kind)


def newcomer(random: Random) -> Person:
    """Return somebody with an account who is nobody's opponent yet: no pool's population has such ids."""
    return _person(random, f"{pick(random, _NAMES)}.{random.getrandbits(32):08x}", "account")


def device(random: Random) -> str:
    """Return the id of an anonymous device that has not been seen."""
    return f"device-{random.getrandbits(48):012x}"


def _suffix(random: Random) -> str:
    return f"{random.getrandbits(24):06x}" if random.random() < 0.1 else f"{random.getrandbits(16):04x}"


def _person(random: Random, name: str, kind: str) -> Person:
    strength = random.gauss(0, _STRENGTH_SIGMA)
    return Person(name, kind, strength, max(1.5, 8.0 - strength / 60 + random.gauss(0, 1)))
