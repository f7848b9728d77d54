"""What is to be simulated, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from worker.ratings.delivery import Header

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

MATCH_FINISHED = "match-finished"
MATCH_ANALYZED = "match-analyzed"
PRIZE_AWARDED = "tournament-prize-awarded"
IDENTITY_LINKED = "identity-linked"

RULESETS: Mapping[str, str] = {PRIZE_AWARDED: "gammon42", IDENTITY_LINKED: "season0"}
"""The only ruleset in whose pools the events of a topic exist."""

FEW = 10
"""How many times the share of prizes and links is repeated or contradicted."""

DEFAULT_POOLS: Mapping[str, str] = {
    "gammon42": "gammon42",
    "blitzgammon": "blitzgammon",
    "nardeon": "nardeon",
    "season0": "season0",
}


class Kind(StrEnum):
    """What a record is, and so what a correct worker makes of it."""

    MATCH = "match"
    """Rated, and not older than any rated match of its players published before."""
    LATE = "late"
    """Rated, but older than a rated match of one of its players that was published before."""
    EXCLUDED = "excluded"
    DUPLICATE = "duplicate"
    """The content of an earlier record of the same topic again, perhaps written differently."""
    CONFLICT = "conflict"
    INVALID = "invalid"
    ANALYSIS = "analysis"
    """First analysis of a rated match, after its match."""
    EARLY_ANALYSIS = "early-analysis"
    """Any analysis of a rated match published before its match."""
    REVISION = "revision"
    """A later analysis of a rated match, with a higher revision."""
    IGNORED_ANALYSIS = "ignored-analysis"
    """An analysis of an excluded match."""
    UNKNOWN_ANALYSIS = "unknown-analysis"
    """An analysis whose match never comes."""
    PRIZE = "prize"
    """Awarded whatever came before it."""
    LINK = "link"
    """Accepted whatever came before it, though whether the account takes the history over depends on that."""
    AGAINST_ONESELF = "against-oneself"
    """A match between a linked anonymous id and its account, published after the link: refused as self-match by a
    worker that has applied the link, rated by one that has not, for topics have no order between them."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How much goes wrong, each 0..1 and relative to the number of matches.

    `late` matches are among the matches; `duplicate`, `conflict` and `invalid` records come on top of them.
    `analyses` is relative to the matches of pools that have a PR rule, `prizes` to those of gammon42 pools, `links` to
    those of season0 pools, where links end when every anonymous player who plays has signed up. Prizes and links are
    few, so ten times the share of them is repeated or contradicted; without them, nothing comes on their topics.
    """

    late: float = 0.01
    duplicate: float = 0.01
    conflict: float = 0.002
    invalid: float = 0.005
    analyses: float = 0.5
    prizes: float = 0.01
    links: float = 0.01

    def __post_init__(self) -> None:
        """Raise ValueError if a share is outside 0..1."""
        for name, share in asdict(self).items():
            if not 0 <= share <= 1:
                raise ValueError(f"the share {name} must lie in 0..1, not {share}")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One reproducible run: equal scenarios give equal records, byte for byte.

    `matches` counts distinct matches over all pools, `pools` maps pool names to ruleset names, `players` is per pool.
    The players follow from `seed` alone; match ids also from `start_ms`, so that two runs do not collide.
    Record timestamps lie in [start_ms, start_ms + duration_ms], UTC milliseconds. `plain` leaves only rated matches
    of registered players, without explicit formula versions. `key` is what records are keyed by.
    """

    seed: int
    matches: int
    start_ms: int
    pools: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_POOLS))
    players: int = 500
    duration_ms: int = 14 * DAY_MS
    shares: Shares = Shares()
    plain: bool = False
    key: Literal["match", "pool"] = "match"

    def __post_init__(self) -> None:
        """Raise ValueError if nothing could be simulated."""
        if self.matches < 0:
            raise ValueError("the number of matches must not be negative")
        if self.players < 2:
            raise ValueError("a pool needs at least 2 players")
        if self.duration_ms < 1:
            raise ValueError("the duration must be at least a millisecond")
        if not self.pools:
            raise ValueError("name at least one pool")

    @property
    def end_ms(self) -> int:
        """The last instant a record may carry, UTC milliseconds."""
        return self.start_ms + self.duration_ms

    @property
    def expected_records(self) -> int:
        """About how many records will come of it, within a few percent."""
        share = self.shares
        analysed = share.analyses * self._part("blitzgammon")
        few = share.prizes * self._part("gammon42") + share.links * self._part("season0")
        on_top = share.conflict + share.invalid + analysed * 1.12 + few * (1 + FEW * (share.duplicate + share.conflict))
        return round(self.matches * (1 + on_top + share.duplicate * (1 + analysed)))

    def _part(self, ruleset: str) -> float:
        return sum(name == ruleset for name in self.pools.values()) / len(self.pools)


class Published(NamedTuple):
    """One record as a platform would publish it. `timestamp_ms` is the record's timestamp, UTC milliseconds.

    `topic` is without prefix. `reason` is the `excluded_reason` of an excluded match, the dead-letter reason of a
    conflict or invalid record (of a match against oneself, if it is refused), None for the rest.
    """

    topic: str
    key: bytes
    value: bytes | None
    timestamp_ms: int
    headers: tuple[Header, ...]
    kind: Kind
    reason: str | None = None
