"""What a worker says of itself over HTTP."""

import json
import math
import urllib.error
import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


class Pages:
    """The pages of the worker that listens on a port of 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._port = port

    def readiness(self) -> tuple[int, dict[str, object]]:
        """Return status and body of `/readyz`; (0, {}) while nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, {}

    def samples(self, name: str) -> Mapping[Labels, float]:
        """Return a metric's values by labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        families = text_string_to_metric_families(text)
        return {
            frozenset(sample.labels.items()): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name
        }

    def value(self, name: str) -> float:
        """Return the value of a metric, added up over its labels."""
        return sum(self.samples(name).values())

    def is_known(self, name: str) -> bool:
        """Return whether there are values, and all of them are numbers."""
        values = self.samples(name).values()
        return bool(values) and not any(math.isnan(value) for value in values)
