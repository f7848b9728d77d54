"""A worker process for the tests of its end: `python -m tests.contract.process_worker SCENARIO`.

Settings come by environment. It prints a line for each thing that happens. Scenarios: what the lane does with a batch,
or what fails.
"""

import asyncio
import sys
import threading
import time

import mode
from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry, Counter

from worker.settings import load_settings
from worker.stream.app import PartitionBatch, create_app
from worker.stream.ending import Exit, Fatal
from worker.stream.run import run_worker
from worker.stream.web import Pages, Readiness

SCENARIO = sys.argv[1]


def say(*words: object) -> None:
    print(*words, flush=True)


class Service(mode.Service):
    async def on_start(self) -> None:
        say("service started")
        if SCENARIO == "thread-hangs":
            threading.Thread(target=time.sleep, args=(300,)).start()
        if SCENARIO == "service-start-fails":
            raise Fatal(3, "state and log do not fit")

    @mode.Service.task
    async def _work(self) -> None:
        if SCENARIO == "service-crashes":
            await asyncio.sleep(2)
            raise ValueError("a bug")

    async def on_stop(self) -> None:
        say("service stopped")


async def take(batch: PartitionBatch) -> None:
    say("batch", batch.topic, batch.partition, len(batch.records))
    if SCENARIO == "take-fails":
        raise ValueError("a bug")
    if SCENARIO == "lane-fails":
        tasks.append(asyncio.create_task(fail_later(batch)))
    elif SCENARIO == "slow":
        tasks.append(asyncio.create_task(acknowledge_later(batch)))
    elif SCENARIO == "budget-spent-late":
        tasks.append(asyncio.create_task(fail_when_told_to_end()))
    elif SCENARIO not in ("never", "waits"):
        await batch.acknowledge()


async def fail_when_told_to_end() -> None:
    await leave.wait()
    leave.fail(4, "Redis was away for too long")


async def acknowledge_later(batch: PartitionBatch) -> None:
    await asyncio.sleep(1)
    await batch.acknowledge()
    say("acknowledged", batch.partition)


async def fail_later(batch: PartitionBatch) -> None:
    leave.fail(4, "Redis was away for too long")
    await batch.acknowledge()


async def assigned(partitions: frozenset[TopicPartition]) -> None:
    say("assigned", len(partitions))
    if SCENARIO == "hook-fails":
        raise Fatal(3, "state and log do not fit")
    if SCENARIO == "hook-hangs":
        await asyncio.Event().wait()


def readiness() -> Readiness:
    return Readiness([] if app.is_consuming else ["not in the group yet"])


tasks: list[asyncio.Task[None]] = []
leave = Exit()
settings = load_settings()
registry = CollectorRegistry()
Counter("batches", "Batches taken.", registry=registry).inc()
services: list[mode.Service] = [Service()]
if settings.web_port:
    services.insert(0, Pages(settings.web_host, settings.web_port, ready=readiness, registry=registry))
app = create_app(settings, take, leave=leave, before_start=services, assigned=assigned)
code = run_worker(app, settings, waits_for=lambda: ["Settling"] if SCENARIO == "waits" else [])
say("returned", code)
sys.exit(code)
