"""The embedded server that the demo starts too: Kafka's and Redis's protocols in one small process."""

from worker.cli.demo.embedded import Embedded, start_embedded

__all__ = ["Embedded", "start_embedded"]
