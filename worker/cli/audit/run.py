"""An audit in memory: records in, in any order, and the first difference in order of position out."""

from collections.abc import Iterable
from typing import NamedTuple

from worker.cli.audit.difference import Difference, First
from worker.cli.audit.inputs import Inputs
from worker.cli.audit.published import Ordered, Record
from worker.cli.audit.replay import Replay
from worker.rules.pools import Pool


class Audited(NamedTuple):
    """What was replayed, and the first thing that does not fit (None: everything does)."""

    replay: Replay
    repeats: int
    difference: Difference | None


class Audit:
    """One pool's `rating-changed`, replayed as far as it has come without a gap."""

    def __init__(self, pool: Pool, inputs: Inputs, topic_prefix: str = "") -> None:
        self.replay = Replay(pool, inputs, topic_prefix)
        self.first = First()
        self.ordered = Ordered(pool.name, self.first)

    @property
    def position(self) -> int:
        """The last position that was replayed."""
        return self.replay.position

    @property
    def highest(self) -> int:
        """The highest position that was seen."""
        return self.ordered.order.highest

    @property
    def stopped(self) -> bool:
        """Whether nothing more can be replayed, for the next position is known to be wrong."""
        found = self.first.difference
        return found is not None and found.position <= self.position + 1

    def run(self, until: int | None = None) -> None:
        """Replay what is there, up to a position (None: all)."""
        order = self.ordered.order
        while not self.stopped and (until is None or order.next <= until):
            events = order.take()
            if events is None:
                return
            self.ordered.wrong(self.replay.apply(events))

    def close(self, until: int, because: str | None = None) -> None:
        """Note that nothing more will come of positions up to `until`; `because` says why they were given."""
        self.run(until)
        if self.position < until and not self.stopped:
            self.ordered.wrong(self.ordered.order.missing(because))

    def result(self) -> Audited:
        """Return what there is now."""
        return Audited(self.replay, self.ordered.order.repeats, self.first.difference)


def replay(pool: Pool, published: Iterable[Record], inputs: Inputs, topic_prefix: str = "") -> Audited:
    """Replay a pool's whole `rating-changed`, whose records may come in any order, on its whole inputs."""
    audit = Audit(pool, inputs, topic_prefix)
    for record in published:
        audit.ordered.add(record)
        audit.run()
    audit.close(audit.highest)
    return audit.result()
