"""A real Apache Kafka broker in KRaft mode, its jars fetched once with Maven."""

import fcntl
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

from tests.servers.process import ServerFailedError, ServerProcess, free_ports

_ROOT = Path(__file__).parents[2]
_POM = _ROOT / "deploy/kafka/dev/pom.xml"
_CACHE = _ROOT / ".cache/kafka"
_INSTEAD = "set RATINGS_TEST_REAL=0 to test on the embedded broker"
_STARTED = "Kafka Server started"
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A broker is up for half the work with these, and slower once it has been up for minutes."""
# A topic is made of whatever a client asks for, as Kafka does by default: ours must ask so that none is.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={log_dir}
auto.create.topics.enable=true
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.cleaner.dedupe.buffer.size=16777216
log.index.size.max.bytes=1048576
"""


def kafka_available() -> bool:
    """Tell whether a real Kafka can be started here."""
    return all(shutil.which(tool) for tool in ("java", "mvn"))


class KafkaServer:
    """A running broker; topics are kept across `kill()` and `restart()`."""

    def __init__(self, process: ServerProcess, port: int, directory: Path) -> None:
        self._process = process
        self.bootstrap = f"127.0.0.1:{port}"
        self.directory = directory

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.alive

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._process.pause()

    def resume(self) -> None:
        """Let it go on after `pause()`."""
        self._process.resume()

    def restart(self) -> None:
        """Start it again on the same port and directory, ending it first with SIGKILL if it still runs."""
        self._process.start_again()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until the broker takes requests."""
        self._process.wait_ready(lambda: _STARTED in self._process.output(), "Kafka")


def start_kafka(directory: Path, java_options: Sequence[str] = _QUICK_START) -> KafkaServer:
    """Format a log directory in `directory` and start a broker on free ports of 127.0.0.1."""
    libs = _jars()
    directory.mkdir(parents=True, exist_ok=True)
    port, controller_port = free_ports(2)
    properties = directory / "server.properties"
    properties.write_text(
        _PROPERTIES.format(port=port, controller_port=controller_port, log_dir=directory / "log"), encoding="utf-8"
    )
    java = ["java", "-Xmx512m", *java_options, "-Dorg.slf4j.simpleLogger.showDateTime=true", "-cp", f"{libs}/*"]
    cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    _run([*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", f"--config={properties}"])
    process = ServerProcess([*java, "kafka.Kafka", str(properties)], directory / "server.log")
    server = KafkaServer(process, port, directory)
    server.wait_ready()
    return server


def _jars() -> Path:
    """Return the folder of the broker's jars, filled by Maven if this is the first time."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    libs = _CACHE / "libs"
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made_for = libs / _POM.name
        if not made_for.exists() or made_for.read_bytes() != _POM.read_bytes():
            shutil.rmtree(libs, ignore_errors=True)
            plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
            try:
                _run(["mvn", "--batch-mode", "--quiet", f"--file={_POM}", plugin, f"-DoutputDirectory={libs}"])
            except ServerFailedError as error:
                raise ServerFailedError(f"Maven cannot fetch Kafka; {_INSTEAD}. {error}") from None
            # Last, so that a download that was cut short counts as none.
            shutil.copyfile(_POM, made_for)
    return libs


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise ServerFailedError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
