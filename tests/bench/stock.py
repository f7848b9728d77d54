"""What the worker is measured against: `python -m tests.bench.stock BOOTSTRAP TOPIC EVENTS DIRECTORY`.

A plain Faust app whose one agent does nothing with `EVENTS` raw events. Its last line is JSON: events a second between
the first event and the last, and its own CPU seconds meanwhile. `--loop uvloop` puts it on the worker's kind of loop.
"""

import json
import os
import sys
import time
from typing import Any

import faust

BOOTSTRAP, TOPIC, EVENTS, DIRECTORY = sys.argv[1:5]
TOTAL = int(EVENTS)

app = faust.App(
    f"{TOPIC}-stock",
    broker=f"kafka://{BOOTSTRAP}",
    datadir=DIRECTORY,
    topic_allow_declare=False,
    topic_disable_leader=True,
    web_enabled=False,
)


@app.agent(app.topic(TOPIC, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"))
async def nothing(stream: Any) -> None:
    seen, began, cpu = 0, 0.0, 0.0
    async for _ in stream:
        seen += 1
        if seen == 1:
            began, cpu = time.perf_counter(), time.process_time()
        elif seen == TOTAL:
            seconds = time.perf_counter() - began
            found = {"per_s": (TOTAL - 1) / seconds, "cpu_s": time.process_time() - cpu}
            # On a line of its own: Faust hides and shows the cursor on its own.
            print(f"\n{json.dumps(found)}", flush=True)
            # Nothing of it is needed any more, and Faust's own way out takes seconds.
            os._exit(0)


if __name__ == "__main__":
    faust.Worker(app, loglevel="error", quiet=True, redirect_stdouts=False).execute_from_commandline()
