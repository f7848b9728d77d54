"""Which topics there should be, and how those that are there differ: decided without a broker."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

# A broker's value above the declared one is somebody's wish for more, and is left alone; -1 means without limit.
_ONLY_RAISED = {"max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms"}
_UNLIMITED_BELOW_ZERO = {"retention.bytes", "retention.ms"}


class TopicsError(ValueError):
    """The topics file is wrong; the sentence names the entry."""


@dataclass(frozen=True)
class DeclaredTopic:
    """A topic as it should be. `initial_partitions` counts those of a new one, `partitions` the least otherwise."""

    name: str
    role: Literal["input", "output"]
    partitions: int
    initial_partitions: int
    replication: int
    config: Mapping[str, str]

    def config_for(self, replication: int) -> dict[str, str]:
        """Return the settings, with `min.insync.replicas` below `replication`, so that one broker may be away."""
        config = dict(self.config)
        if "min.insync.replicas" in config:
            config["min.insync.replicas"] = str(min(int(config["min.insync.replicas"]), max(1, replication - 1)))
        return config


@dataclass(frozen=True)
class ActualTopic:
    """A topic as the brokers have it: `config` is what holds, `overrides` the part that is set on the topic itself."""

    partitions: int
    replication: int
    config: Mapping[str, str]
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """One way in which a topic is not as declared; `applicable` tells whether `apply` may set it right."""

    topic: str
    kind: Literal["missing", "partitions", "replication", "config"]
    wanted: str
    actual: str | None
    sentence: str
    applicable: bool
    setting: str | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    partitions: Annotated[int, Field(ge=1)] | None = None
    replication: Annotated[int, Field(ge=1)] | None = None
    config: dict[str, int | str | bool] = {}


class _Topic(_Entry):
    role: Literal["input", "output"]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    defaults: _Entry = _Entry()
    topics: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,149}\z")], _Topic]


def parse_topics(text: str) -> list[DeclaredTopic]:
    """Return the topics that a topics file declares, in its order; raise TopicsError where it is wrong."""
    try:
        file = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise TopicsError(f"the topics file is not TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise TopicsError(f"the topics file is wrong at {place}: {first['msg']}.") from None
    return [_declared(name, topic, file.defaults) for name, topic in file.topics.items()]


def _declared(name: str, topic: _Topic, defaults: _Entry) -> DeclaredTopic:
    partitions = topic.partitions or defaults.partitions or 8
    config = {key: _config_text(value) for key, value in {**defaults.config, **topic.config}.items()}
    for key in _ONLY_RAISED & config.keys():
        if not config[key].removeprefix("-").isdecimal():
            raise TopicsError(f"the topics file is wrong at topics.{name}.config: {key} must be an integer.")
    replication = topic.replication or defaults.replication or 3
    return DeclaredTopic(name, topic.role, partitions, partitions, replication, config)


def _config_text(value: int | str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_overrides(
    topics: Sequence[DeclaredTopic],
    *,
    prefix: str = "",
    partitions: int | None = None,
    replication: int | None = None,
    outputs: bool = False,
) -> list[DeclaredTopic]:
    """Return the topics under their real names, with the numbers of partitions and replicas asked for instead.

    `partitions` holds for inputs and for every new topic; outputs that exist are asked for more than the file declares
    only where `outputs` is true.
    """

    def least(topic: DeclaredTopic) -> int:
        if partitions is None:
            return topic.partitions
        return partitions if topic.role == "input" or outputs else min(partitions, topic.partitions)

    return [
        replace(
            topic,
            name=prefix + topic.name,
            partitions=least(topic),
            initial_partitions=partitions or topic.initial_partitions,
            replication=replication or topic.replication,
        )
        for topic in topics
    ]


def plan(
    declared: Sequence[DeclaredTopic], actual: Mapping[str, ActualTopic], *, outputs: bool = False
) -> list[Difference]:
    """Return every difference, topic by topic. More than declared is none, and nothing is ever lowered.

    With `outputs`, more partitions for an output that exists may be applied too.
    """
    differences: list[Difference] = []
    for topic in declared:
        there = actual.get(topic.name)
        if there is None:
            differences.append(_missing(topic))
        else:
            differences += [
                *_partitions(topic, there, outputs=outputs),
                *_replication(topic, there),
                *_config(topic, there),
            ]
    return differences


def _missing(topic: DeclaredTopic) -> Difference:
    wanted = f"{topic.initial_partitions} partitions, {topic.replication} replicas"
    return Difference(topic.name, "missing", wanted, None, f"{topic.name} does not exist ({wanted}).", applicable=True)


def _partitions(topic: DeclaredTopic, there: ActualTopic, *, outputs: bool) -> list[Difference]:
    if there.partitions >= topic.partitions:
        return []
    applicable = topic.role == "input" or outputs
    sentence = f"{topic.name} has {there.partitions} partitions, but {topic.partitions} are declared"
    if not applicable:
        sentence += "; more partitions move its keys, so let its consumers finish first and then give --outputs"
    return [
        Difference(
            topic.name,
            "partitions",
            str(topic.partitions),
            str(there.partitions),
            f"{sentence}.",
            applicable=applicable,
        )
    ]


def _replication(topic: DeclaredTopic, there: ActualTopic) -> list[Difference]:
    if there.replication >= topic.replication:
        return []
    sentence = (
        f"{topic.name} has {there.replication} replicas, but {topic.replication} are declared; "
        "raise them with kafka-reassign-partitions.sh."
    )
    wanted, actual = str(topic.replication), str(there.replication)
    return [Difference(topic.name, "replication", wanted, actual, sentence, applicable=False)]


def _config(topic: DeclaredTopic, there: ActualTopic) -> list[Difference]:
    differences = []
    for key, wanted in topic.config_for(there.replication).items():
        actual = there.config.get(key)
        if _fits(key, wanted, actual):
            continue
        sentence = f"{topic.name} has {key} = {actual}, but {wanted} is declared."
        differences.append(Difference(topic.name, "config", wanted, actual, sentence, applicable=True, setting=key))
    return differences


def _fits(key: str, wanted: str, actual: str | None) -> bool:
    if actual is None or key not in _ONLY_RAISED or not actual.removeprefix("-").isdecimal():
        return actual == wanted
    return _amount(key, actual) >= _amount(key, wanted)


def _amount(key: str, value: str) -> float:
    amount = int(value)
    return float("inf") if amount < 0 and key in _UNLIMITED_BELOW_ZERO else amount
