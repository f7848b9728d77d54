"""What a finished batch adds to the metrics and, at level debug, to the log."""

import logging
from collections import Counter, defaultdict
from collections.abc import Mapping

import structlog
from prometheus_client import Counter as MetricCounter

from worker.stream.apply import Applied
from worker.stream.intake import Batch
from worker.stream.metrics import Metrics

log = structlog.get_logger(__name__)


def log_outcomes(applied: Mapping[str, Applied]) -> None:
    """Log one line an event, with its match id, at level debug; nothing at any other."""
    if not logging.getLogger(__name__).isEnabledFor(logging.DEBUG):
        return
    for pool, part in applied.items():
        for source, outcome in part.outcomes:
            log.debug("answered", pool=pool, match_id=outcome.match_id, outcome=outcome.kind.value, source=str(source))


def record(metrics: Metrics, batch: Batch, applied: Mapping[str, Applied], now_s: float) -> None:
    """Count what was answered; `now_s` is the worker's clock, seconds since 1970."""
    if not batch.events:
        return
    oldest_ms = min(event.delivery.timestamp_ms for event in batch.events)
    metrics.event_age_seconds.observe(max(0.0, now_s - oldest_ms / 1000))
    for pool, part in applied.items():
        metrics.repeated.labels(pool).inc(part.repeated)
        metrics.skipped.labels(pool).inc(part.skipped)
        metrics.conflicts_retried.labels(pool).inc(part.conflicts)
        _record_outcomes(metrics, pool, part)


def _record_outcomes(metrics: Metrics, pool: str, part: Applied) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    letters: Counter[tuple[str, str]] = Counter()
    changes = 0
    for source, outcome in part.outcomes:
        counts[source.topic][outcome.kind.value] += 1
        if outcome.pushed_out:
            metrics.analyses.labels(pool, "pushed-out").inc(outcome.pushed_out)
        if outcome.ignored:
            metrics.analyses.labels(pool, "ignored").inc(outcome.ignored)
        for letter in outcome.letters:
            letters[letter.delivery.source.topic, letter.refusal.reason.value] += 1
        changes += len(outcome.changes.sides) if outcome.changes is not None else 0
    for topic, of_topic in counts.items():
        counter = _counter(metrics, topic)
        for kind, count in of_topic.items():
            counter.labels(pool, kind).inc(count)
    for (topic, reason), count in letters.items():
        metrics.dead_letters.labels(topic, reason).inc(count)
    metrics.changes_published.labels(pool).inc(changes)


def _counter(metrics: Metrics, topic: str) -> MetricCounter:
    """Return what counts the events of an input topic, given by its real name, which may have a prefix."""
    counters = {
        "match-finished": metrics.matches,
        "match-analyzed": metrics.analyses,
        "tournament-prize-awarded": metrics.prizes,
        "identity-linked": metrics.links,
    }
    return next(counter for name, counter in counters.items() if topic.endswith(name))
