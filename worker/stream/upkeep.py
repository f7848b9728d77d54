"""What goes on beside the events: the horizon, and pruning behind it."""

import time
from collections.abc import Collection, Mapping

import structlog

from worker.ratings.instants import DAY_MS
from worker.rules.pools import Pool
from worker.stream.metrics import Metrics
from worker.stream.offsets import Offsets
from worker.tables.tables import Marker, Partition, PoolTables

log = structlog.get_logger()


def horizon_ms(
    markers: Mapping[Partition, Marker], ends: Mapping[Partition, int], retention_days: int, now_ms: int
) -> int:
    """Return how far a pool's horizon may move: the lowest newest timestamp over the partitions, less the retention.

    A partition without lag goes with the others. A record stamped later than `now_ms`, the worker's clock, moves
    nothing further than that: a publisher's wrong clock must not make good matches too late.
    """
    lagging = [name for name, end in ends.items() if end > (markers[name].applied if name in markers else 0)]
    if any(name not in markers for name in lagging):
        return 0
    counted = lagging or list(markers)
    newest = [markers[name].timestamp_ms for name in counted]
    reached = (min(newest) if lagging else max(newest)) if newest else 0
    return max(0, min(reached, now_ms) - retention_days * DAY_MS)


async def prune(
    inputs: Collection[Partition],
    pools: Mapping[str, Pool],
    tables: Mapping[str, PoolTables],
    offsets: Offsets,
    metrics: Metrics,
) -> None:
    """Move every pool's horizon as far as it may, and remove what is behind it."""
    ends = await offsets.ends(list(inputs))
    for name, pool in pools.items():
        table = tables[name]
        markers = {key: marker for key, marker in (await table.markers()).items() if key in ends}
        stands_at = await table.raise_horizon(horizon_ms(markers, ends, pool.rules.retention_days, _now_ms()))
        removed = dict.fromkeys(("matches", "parked", "window_entries"), 0)
        more = True
        while more:
            step = await table.prune(pool.rules.window_ms or 0)
            more = step.more
            for kind in removed:
                removed[kind] += getattr(step, kind)
        for kind, count in removed.items():
            metrics.pruned.labels(name, kind).inc(count)
        log.info("pruned", pool=name, horizon_ms=stands_at, **removed)


def _now_ms() -> int:
    return int(time.time() * 1000)
