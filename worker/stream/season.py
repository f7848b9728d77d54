"""The beginning of a worker's life: an empty Redis is a new season only where nothing was ever rated."""

from collections.abc import Mapping, Sequence

from worker.settings import Settings, SettingsError
from worker.stream.ending import DOES_NOT_FIT, Fatal
from worker.stream.existing import refuse_missing
from worker.stream.fit import ADVICE
from worker.stream.offsets import Offsets
from worker.stream.persistence import refuse_without_aof
from worker.stream.redis import naming_wrong_settings
from worker.tables.registry import Registry
from worker.tables.tables import UNPOOLED, Marker, Partition, PoolTables

OUTPUTS = ("rating-changed", "match-excluded")


async def open_season(
    settings: Settings,
    inputs: Sequence[str],
    registry: Registry,
    tables: Mapping[str, PoolTables],
    offsets: Offsets,
) -> None:
    """Give every pool its first markers, or see that it still has them.

    Raises SettingsError where topics are missing, or Redis may evict or does not persist as required, and Fatal with
    exit code 3 where Redis is empty under a group that has worked before, or has lost a pool.
    """
    partitions = await _partitions(settings, inputs, offsets)
    with naming_wrong_settings(settings):
        policy = await registry.eviction_policy()
        known = await registry.pools()
    if policy.startswith("allkeys"):
        raise SettingsError(
            f"RATINGS_REDIS_URL: this Redis may evict keys (maxmemory-policy {policy}): set noeviction."
        )
    await refuse_without_aof(settings, registry)
    if not known:
        why = await _why_not_new(settings, partitions, offsets)
        known = await registry.pools()  # another worker may have begun the season meanwhile
        if not known and why is not None:
            raise Fatal(DOES_NOT_FIT, f"Redis holds no ratings under {settings.redis_namespace!r}, but {why} {ADVICE}")
    for name in sorted(tables, key=lambda pool: pool != UNPOOLED):
        await _begin(name, name in known, registry, tables, partitions, offsets)


async def _partitions(settings: Settings, inputs: Sequence[str], offsets: Offsets) -> dict[str, list[Partition]]:
    wanted = [settings.topic(name) for name in (*inputs, *OUTPUTS, *(f"{name}.dlt" for name in inputs))]
    found = await offsets.partitions(wanted)
    refuse_missing(settings, wanted, found)
    return {name: found[settings.topic(name)] for name in (*inputs, *OUTPUTS)}


async def _why_not_new(
    settings: Settings, partitions: Mapping[str, Sequence[Partition]], offsets: Offsets
) -> str | None:
    ours = {partition for name in partitions if name not in OUTPUTS for partition in partitions[name]}
    committed = [partition for partition in await offsets.committed() if partition in ours]
    if committed:
        first = min(committed)
        return f"the group {settings.group} has committed offsets, among them for {first.topic}/{first.number}."
    ends = await offsets.ends(partitions["rating-changed"])
    written = [partition for partition, end in ends.items() if end > 0]
    if written:
        return f"{written[0].topic}/{written[0].number} has had records."
    return None


async def _begin(
    name: str,
    is_known: bool,
    registry: Registry,
    tables: Mapping[str, PoolTables],
    partitions: Mapping[str, Sequence[Partition]],
    offsets: Offsets,
) -> None:
    if is_known:
        if not await tables[name].markers():
            raise Fatal(DOES_NOT_FIT, f"Redis knows pool {name} but has lost all that it held of it. {ADVICE}")
        return
    if name == UNPOOLED:
        logs = [partition for topic in partitions if topic not in OUTPUTS for partition in partitions[topic]]
        first = [Marker(partition, begin) for partition, begin in (await offsets.begins(logs)).items()]
    else:  # what came before the pool was configured has been answered as unknown-pool
        first = list((await tables[UNPOOLED].markers()).values())
    await tables[name].begin(first)
    await registry.add([name])
