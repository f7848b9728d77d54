"""What was measured, as a small table."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

Results = Mapping[str, Sequence[Mapping[str, Any]]]

NAMES = {
    "a": "a  stock Faust agent, does nothing",
    "b": "b  one worker, gammon42",
    "c": "c  one worker, four pools and analyses",
}
_STAGES = ("load", "decide", "commit", "publish", "settle")
_LATENCIES = {
    "p50_ms": "p50  receiving the rating change, b",
    "p99_ms": "p99",
    "confirmed_p50_ms": "p50  Kafka confirming the match itself",
    "confirmed_p99_ms": "p99",
}
_SPREAD = ("min", "median", "max")
_PROCESSES = ("worker", "redis", "kafka")


def ratios(results: Results) -> list[float]:
    """Return b/a of each repetition."""
    return [b["per_s"] / a["per_s"] for a, b in zip(results.get("a", ()), results.get("b", ()), strict=False)]


def lines(results: Results) -> list[str]:
    """Return the table's lines."""
    text = _row("", _SPREAD) if results.keys() & NAMES.keys() else []
    for name, title in NAMES.items():
        if name in results:
            text += _spread(title, [run["per_s"] for run in results[name]], "{:,.0f}".format, "events/s")
    if found := ratios(results):
        text += _spread("b/a", found, "{:.2f}".format)
    if latency := results.get("latency"):
        text += ["", *_row(f"Milliseconds at {latency[0]['rate']:,} matches/s, from publishing to", _SPREAD)]
        for name, title in _LATENCIES.items():
            text += _spread(title, [run[name] for run in latency], "{:,.1f}".format)
    return [*text, *_where_time_goes(results)]


def _where_time_goes(results: Results) -> list[str]:
    workers = {name: runs for name, runs in results.items() if name in ("b", "c")}
    text = []
    if workers:
        measured = {stage for runs in workers.values() for stage in runs[0]["stages_us"]}
        stages = [*_STAGES, *sorted(measured - {*_STAGES})]
        text += [
            "",
            "Microseconds an event by stage, median (publish and settle run beside the rest, and c's pools beside",
        ]
        text += ["each other), and events a batch", *_row("", [*stages, "batch"])]
        for name, runs in workers.items():
            size = median(run["batch"] for run in runs)
            text += _row(NAMES[name], [*(_median(runs, "stages_us", stage) for stage in stages), f"{size:,.0f}"])
    measured_cpu = {name: runs for name, runs in results.items() if name in NAMES}
    if any(runs[0]["cpu_us"] for runs in measured_cpu.values()):
        text += ["", "Microseconds of CPU an event by process, median", *_row("", _PROCESSES)]
        for name, runs in measured_cpu.items():
            text += _row(NAMES[name], [_median(runs, "cpu_us", process) for process in _PROCESSES])
    return text


def _median(runs: Sequence[Mapping[str, Any]], what: str, name: str) -> str:
    found = [run[what][name] for run in runs if name in run[what]]
    return f"{median(found):,.1f}" if found else "-"


def _spread(title: str, values: Sequence[float], written: Callable[[float], str], unit: str = "") -> list[str]:
    return _row(title, [written(value) for value in (min(values), median(values), max(values))], unit)


def _row(title: str, cells: Sequence[str], unit: str = "") -> list[str]:
    return [f"{title:<42}{''.join(f'{cell:>9}' for cell in cells)}  {unit}".rstrip()]
