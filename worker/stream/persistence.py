"""Whether Redis, the system of record, keeps on disk what it confirms."""

from worker.settings import Settings, SettingsError
from worker.tables.registry import Registry

_REMEDY = "run it with appendonly yes and appendfsync always"


def aof_warning(keeps_aof: bool | None) -> str | None:
    """Return what is wrong with a Redis that keeps no append-only file, or (None) does not tell; None if nothing is."""
    if keeps_aof:
        return None
    what = "does not tell whether it keeps an" if keeps_aof is None else "keeps no"
    return f"Redis {what} append-only file: ratings that it confirmed may be lost with its process; {_REMEDY}."


async def refuse_without_aof(settings: Settings, registry: Registry) -> None:
    """Raise SettingsError unless Redis keeps an append-only file, where the settings require that."""
    if settings.require_aof and (what := aof_warning(await registry.keeps_aof())):
        raise SettingsError(f"RATINGS_REQUIRE_AOF is 1, but {what}")
