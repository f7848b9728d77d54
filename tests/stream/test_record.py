"""What a finished batch adds to the metrics."""

from worker.ratings.delivery import Delivery, Source
from worker.ratings.outcome import refuse
from worker.ratings.refusal import Reason, Refusal
from worker.stream.apply import Applied
from worker.stream.decode import Decoded
from worker.stream.intake import Batch
from worker.stream.metrics import Metrics
from worker.stream.record import record


def test_dead_letters_are_counted_by_the_real_name_of_their_topic_and_by_reason():
    metrics = Metrics()
    outcomes, events = [], []
    for offset, (topic, reason) in enumerate(
        [
            ("eu-match-finished", Reason.SCHEMA),
            ("eu-match-finished", Reason.SCHEMA),
            ("eu-match-finished", Reason.CONFLICT),
            ("eu-match-analyzed", Reason.SCHEMA),
        ]
    ):
        delivery = Delivery(Source(topic, 0, offset), 1_000, None, b"")
        outcomes.append((delivery.source, refuse("", (), 0, delivery, Refusal(reason, "wrong"))))
        events.append(Decoded(delivery, None, None, None, 0))
    record(metrics, Batch(events, {}, {}, []), {"gammon42": Applied(0, outcomes=outcomes)}, now_s=2.0)

    def counted(topic, reason):
        labels = {"topic": topic, "reason": reason}
        return metrics.registry.get_sample_value("ratings_dead_letters_total", labels)

    assert counted("eu-match-finished", "schema") == 2
    assert counted("eu-match-finished", "conflict") == 1
    assert counted("eu-match-analyzed", "schema") == 1
