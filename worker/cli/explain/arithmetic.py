"""What an explanation of a rated match is made of."""

from typing import Any, NamedTuple

from worker.cli.words import plus, shown_id, shown_rating
from worker.ratings.rows import RatedRecord, RecordedSide
from worker.rules.ruleset import Rating


class Step(NamedTuple):
    """One step of the arithmetic: what it is about (a term, or a player's id), and what happens, in words."""

    about: str
    says: str


class Arithmetic(NamedTuple):
    """How a match was rated when it came.

    `rule` names what it was rated by. `as_set_now` is false where the pool's settings have changed since, so that they
    would give other numbers.
    """

    rule: str
    steps: tuple[Step, ...]
    as_set_now: bool


class Seat(NamedTuple):
    """A player of the match: `terms` are the details as published, `after` the rating right after the match."""

    id: str
    before: Rating
    change: Rating
    after: Rating
    terms: dict[str, Any]

    @property
    def name(self) -> str:
        """The id as it is shown."""
        return shown_id(self.id)

    @property
    def adds_up(self) -> str:
        """`1500 + 10 = 1510`."""
        return f"{shown_rating(self.before)} {plus(self.change)} = {shown_rating(self.after)}"


def seats(rated: RatedRecord) -> tuple[Seat, Seat]:
    """Return winner and loser."""
    return _seat(rated.winner), _seat(rated.loser)


def _seat(side: RecordedSide) -> Seat:
    return Seat(side.player_id, side.before, side.change, side.before + side.change, dict(side.terms))
