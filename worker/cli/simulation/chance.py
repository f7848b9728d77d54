"""Draws that several modules share; all randomness comes from the generator that is passed in."""

import math
from collections.abc import Iterable
from random import Random
from typing import TypeVar

Drawn = TypeVar("Drawn")


def weighted(*choices: tuple[int, Drawn]) -> tuple[Drawn, ...]:
    """Return each choice as often as its weight says, so that one uniform draw picks by weight."""
    return tuple(choice for weight, choice in choices for _ in range(weight))


def pick(random: Random, choices: tuple[Drawn, ...]) -> Drawn:
    """Return one of the choices, each alike: several times faster than Random.choice."""
    return choices[int(random.random() * len(choices))]


def between(random: Random, least: float, most: float) -> int:
    """Return a whole number of [least, most], every order of magnitude alike: how waiting times look. `least` > 0."""
    return int(least * math.exp(random.random() * math.log(most / least)))


def shuffled(random: Random, items: Iterable[Drawn]) -> list[Drawn]:
    """Return the items in a random order."""
    listed = list(items)
    random.shuffle(listed)
    return listed
