"""What is there before anything has happened."""

import math
from importlib.metadata import version

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from worker.stream.metrics import Metrics


def samples():
    text = generate_latest(Metrics().registry).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def test_the_program_tells_its_build_and_what_its_process_uses():
    [build] = [sample for sample in samples() if sample.name == "ratings_build_info"]
    assert build.value == 1
    assert build.labels.keys() == {"version", "python", "tables_format"}
    assert build.labels["version"] == version("gammon-ratings")
    names = {sample.name for sample in samples()}
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"} <= names
    assert {"python_info", "python_gc_collections_total"} <= names


def test_what_nobody_has_looked_at_is_down_or_not_known():
    values = {sample.name: sample.value for sample in samples()}
    assert values["ratings_kafka_up"] == values["ratings_redis_up"] == 0
    assert math.isnan(values["ratings_redis_aof"])
    assert math.isnan(values["ratings_redis_aof_fsync_always"])
