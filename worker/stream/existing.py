"""Which topics exist. Nothing is created by asking: see `worker.stream.kafka`."""

from collections.abc import Container, Iterable
from typing import Any

from worker.settings import Settings, SettingsError


async def partitions_of(admin: Any, names: Iterable[str]) -> dict[str, list[int]]:
    """Return the numbers of the partitions of those of these topics, by their real names, that exist."""
    return {
        topic["topic"]: sorted(partition["partition"] for partition in topic["partitions"])
        for topic in await admin.describe_topics(sorted(names))
        if topic["error_code"] == 0
    }


def refuse_missing(settings: Settings, wanted: Iterable[str], found: Container[str]) -> None:
    """Raise SettingsError with every topic, by its real name, that is wanted and was not found, and the remedy."""
    if missing := [name for name in wanted if name not in found]:
        raise SettingsError(
            f"RATINGS_KAFKA_BOOTSTRAP, RATINGS_TOPIC_PREFIX: no topic {', '.join(missing)} at "
            f"{settings.kafka_bootstrap}: create what is missing with `gammon-ratings topics apply`."
        )
