"""One test's own corner of the servers: its topics, its group, its Redis keys, and the workers it starts."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiokafka.admin import NewTopic
from pydantic import SecretStr

from tests.servers.process import PATIENCE_S, ServerProcess, wait_until
from worker.files import packaged
from worker.settings import Settings
from worker.stream.topic_admin import apply, topic_admin
from worker.stream.topics import DeclaredTopic, parse_topics, with_overrides

INPUTS = ("match-finished", "match-analyzed", "tournament-prize-awarded", "identity-linked")
OUTPUTS = ("rating-changed", "match-excluded")


class Worker:
    """A worker process: `gammon-ratings worker`."""

    def __init__(self, site: "Site", name: str, environment: Mapping[str, str]) -> None:
        command = str(Path(sys.executable).with_name("gammon-ratings"))
        self._process = ServerProcess(
            [command, "worker"], site.directory / f"{name}.log", {**site.environment(), **environment}
        )

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def output(self) -> str:
        """What it wrote since it was last started."""
        return self._process.output()

    def until_logs(self, text: str, *, within_s: float = PATIENCE_S) -> None:
        """Wait until it has written `text`; fail if it ends without."""
        wait_until(lambda: text in self.output or not self.alive, f"the worker to write {text!r}", within_s)
        assert text in self.output, self.output

    def until_assigned(self, *, within_s: float = PATIENCE_S) -> None:
        """Wait until it is in the group."""
        self.until_logs("partitions assigned", within_s=within_s)

    def ends_with(self, *, within_s: float = PATIENCE_S) -> int:
        """Wait for its end and return the exit code."""
        wait_until(lambda: not self.alive, f"the worker to end; it wrote: {self.output[-2000:]}", within_s)
        code = self._process.exit_code
        assert code is not None
        return code

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def pause(self) -> None:
        """SIGSTOP."""
        self._process.pause()

    def resume(self) -> None:
        """SIGCONT."""
        self._process.resume()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send(number)

    def terminate(self) -> int:
        """SIGTERM; return the exit code: 0 says that it ended in time, for its own clock makes it 1 otherwise."""
        self.send(signal.SIGTERM)
        return self.ends_with()

    def start_again(self) -> None:
        """Start the same command anew, after it has ended."""
        self._process.start_again()


@dataclass(frozen=True)
class Site:
    """Where a test's workers work. `directory` is for logs."""

    bootstrap: str
    redis_url: str
    prefix: str
    namespace: str
    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Return the settings as a worker process gets them."""
        inherited = {name: "" for name in os.environ if name.startswith("RATINGS_")}
        return {
            **inherited,
            "RATINGS_KAFKA_BOOTSTRAP": self.bootstrap,
            "RATINGS_REDIS_URL": self.redis_url,
            "RATINGS_REDIS_NAMESPACE": self.namespace,
            "RATINGS_TOPIC_PREFIX": self.prefix,
            "RATINGS_GROUP": self.group,
            "RATINGS_REPLICATION": "1",
            "RATINGS_WEB_PORT": "0",
            **self.variables,
        }

    @property
    def group(self) -> str:
        return f"{self.prefix}group"

    @property
    def settings(self) -> Settings:
        return Settings(
            kafka_bootstrap=self.bootstrap,
            redis_url=SecretStr(self.redis_url),
            redis_namespace=self.namespace,
            topic_prefix=self.prefix,
            group=self.group,
            replication=1,
        )

    def topic(self, name: str) -> str:
        return self.prefix + name

    def on_redis(self, url: str, **variables: str) -> "Site":
        """Return the same with another Redis, and with settings for every worker."""
        return replace(self, redis_url=url, variables=_variables(variables))

    def on_kafka(self, bootstrap: str) -> "Site":
        """Return the same with another Kafka."""
        return replace(self, bootstrap=bootstrap)

    def start_worker(self, **variables: str) -> Worker:
        """Start one more worker; `variables` are further RATINGS_ settings by their names in lower case."""
        worker = Worker(self, f"worker-{len(self.workers)}", _variables(variables))
        self.workers.append(worker)
        return worker

    def start_workers(self, count: int, **variables: str) -> list[Worker]:
        """Start workers and wait until each has its share of the partitions."""
        workers = [self.start_worker(**variables) for _ in range(count)]
        for worker in workers:  # the one that came last is given partitions only together with the others
            worker.until_assigned()
        return workers

    def end_workers(self) -> None:
        """Kill what still runs."""
        for worker in self.workers:
            worker.kill()

    def apply_topics(self, partitions: int = 8, *, largest_letter: int | None = None) -> None:
        """Do what `topics apply` does, for the topics that a worker needs; `largest_letter` limits dead letters."""
        asyncio.run(self._apply_topics(partitions, largest_letter))

    def create_inputs_of_any_date(self, partitions: int) -> None:
        """Create the input topics so that the broker does not mind records that by its own clock are to come."""
        asyncio.run(self._create_inputs_of_any_date(partitions))

    async def _create_inputs_of_any_date(self, partitions: int) -> None:
        forever = {"message.timestamp.after.max.ms": str(2**63 - 1)}
        async with topic_admin(self.settings) as admin:
            await admin.create_topics(
                [NewTopic(self.topic(name), partitions, 1, topic_configs=forever) for name in INPUTS]
            )

    async def _apply_topics(self, partitions: int, largest_letter: int | None) -> None:
        text = packaged("deploy/kafka/topics.toml").read_text(encoding="utf-8")
        needed = {*INPUTS, *OUTPUTS, *(f"{name}.dlt" for name in INPUTS)}
        topics = [topic for topic in parse_topics(text) if topic.name in needed]
        if largest_letter:
            topics = [_limited(topic, largest_letter) if topic.name.endswith(".dlt") else topic for topic in topics]
        async with topic_admin(self.settings) as admin:
            await apply(admin, with_overrides(topics, prefix=self.prefix, partitions=partitions, replication=1))


def _limited(topic: DeclaredTopic, largest_bytes: int) -> DeclaredTopic:
    return replace(topic, config={**topic.config, "max.message.bytes": str(largest_bytes)})


def _variables(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"RATINGS_{name.upper()}": value for name, value in settings.items()}
