"""`python -m tests.bench`: measure the worker beside a stock Faust agent, in turn, on the same servers."""

import argparse
import gc
import json
import logging
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.ground import BenchError, Ground, ground
from tests.bench.latency import measure
from tests.bench.report import lines, ratios
from tests.bench.throughput import Result, count_changes, run_stock, run_worker
from tests.integration.support.site import Site
from tests.servers.process import ServerFailedError
from worker.cli.simulation import DEFAULT_POOLS, Shares, gammon42_matches, mixed, simulate
from worker.cli.simulation.sending import now_ms

PARTS = ("a", "b", "c", "latency")
RATE = 1000
WARM_UP_S = 2
PLAYERS_SHARE = 5
"""One player for so many matches, so that the busiest play more than 50 games a week whatever the size."""
# A tenth as many analyses as matches: only the blitz matches, a quarter of all, have any, some of them two.
_ANALYSES = Shares(late=0, duplicate=0, conflict=0, invalid=0, analyses=0.36, prizes=0, links=0)


def main() -> int:
    """Measure what is asked for, print it, and return the exit code."""
    options = _options()
    busy = os.getloadavg()[0]
    # A new topic has no leader yet, and the producer tells of each time that it tries again.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        with ground() as servers:
            results = _Bench(servers, options).results()
    except (BenchError, ServerFailedError) as error:
        print(error, file=sys.stderr)
        return 1
    machine = f"{os.cpu_count()} CPUs, load {busy:.1f} before, Python {platform.python_version()}"
    print(f"\n{options.matches:,} matches, {options.repeat} times; {machine}")
    print("\n".join(lines(results)))
    if options.json:
        document = {
            "matches": options.matches,
            "cpus": os.cpu_count(),
            "load": busy,
            "ratios": ratios(results),
            "runs": results,
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 matches, once, and 5 s of latency")
    parser.add_argument("--matches", type=int, help="matches of b and of c (100,000)")
    parser.add_argument("--repeat", type=int, help="how often each is measured (3)")
    parser.add_argument("--only", type=_parts, default=PARTS, metavar="a,b,c,latency", help="leave the others out")
    parser.add_argument(
        "--stock-loop", choices=("asyncio", "uvloop"), default="asyncio", help="event loop of a (asyncio)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too")
    options = parser.parse_args()
    options.matches = options.matches or (20_000 if options.quick else 100_000)
    options.repeat = options.repeat or (1 if options.quick else 3)
    options.latency_s = 5 if options.quick else 15
    return options


def _parts(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if unknown := [part for part in chosen if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is none of {', '.join(PARTS)}")
    return chosen


class _Bench:
    """The runs of one call, each beginning with fresh topics and a fresh Redis namespace."""

    def __init__(self, servers: Ground, options: argparse.Namespace) -> None:
        self._servers = servers
        self._options = options
        self._results: dict[str, list[Result]] = {}
        players = max(2, options.matches // PLAYERS_SHARE)
        self._gammon42 = gammon42_matches(options.matches, players)
        self._mixed = mixed(options.matches, max(2, players // len(DEFAULT_POOLS)), shares=_ANALYSES)

    def results(self) -> Mapping[str, list[Result]]:
        """Run everything in turn, as often as asked for."""
        wanted = self._options.only
        one_pool = list(simulate(self._gammon42)) if {"a", "b"} & {*wanted} else []
        four_pools = list(simulate(self._mixed)) if "c" in wanted else []
        gc.freeze()
        for _ in range(self._options.repeat):
            if one_pool:
                with self._servers.site(one_pool) as site:
                    self._run("a", lambda: run_stock(site, len(one_pool), self._options.stock_loop))
                    self._run("b", lambda: self._rate_gammon42(site))
            if four_pools:
                with self._servers.site(four_pools) as site:
                    self._run("c", lambda: self._rate(site, len(four_pools), tuple(DEFAULT_POOLS)))
            self._run("latency", self._latency)
        return self._results

    def _run(self, part: str, measure: Callable[[], Result]) -> None:
        if part in self._options.only:
            found = measure()
            self._results.setdefault(part, []).append(found)
            shown = {name: value for name, value in found.items() if not isinstance(value, dict)}
            print(part, *(f"{name} {value:,.6g}" for name, value in shown.items()), file=sys.stderr, flush=True)

    def _rate_gammon42(self, site: Site) -> Result:
        found = self._rate(site, self._options.matches, ("gammon42",))
        changes, halved = count_changes(site)
        if changes != 2 * self._options.matches or not halved:
            raise BenchError(
                f"{changes:,} rating changes, {halved:,} of them with K = 16: not what was to be measured."
            )
        return {**found, "changes_with_k_16": halved}

    def _rate(self, site: Site, events: int, pools: Sequence[str]) -> Result:
        found = run_worker(self._servers, site, events, pools)
        outcomes = found["outcomes"]
        if outcomes.keys() - {"rated", "excluded"} or sum(outcomes.values()) != self._options.matches:
            raise BenchError(f"The worker answered {outcomes}: not what was to be measured.")
        return found

    def _latency(self) -> Result:
        seconds = WARM_UP_S + self._options.latency_s
        scenario = gammon42_matches(RATE * seconds, self._gammon42.players, start_ms=now_ms())
        records = list(simulate(replace(scenario, duration_ms=seconds * 1000)))
        with self._servers.site() as site:
            found = measure(site, records, RATE, WARM_UP_S)
        return {
            "rate": RATE,
            **{f"p{share}_ms": _percentile(found.answered, share) for share in (50, 99)},
            **{f"confirmed_p{share}_ms": _percentile(found.confirmed, share) for share in (50, 99)},
        }


def _percentile(ordered: Sequence[float], share: int) -> float:
    return ordered[len(ordered) * share // 100]


if __name__ == "__main__":
    sys.exit(main())
