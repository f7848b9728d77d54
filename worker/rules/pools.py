"""Rating pools as the pools file sets them: names, rulesets and every setting, refused with the line if unusable."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, NoReturn

from worker.rules.blitzgammon import BlitzGammon
from worker.rules.errors import PoolsError, SettingError
from worker.rules.gammon42 import FormulaStart, Gammon42
from worker.rules.nardeon import Nardeon
from worker.rules.ruleset import Ruleset
from worker.rules.season0 import KTier, Season0
from worker.rules.toml_lines import Path, line_of, line_of_error

RulesetType = type[Gammon42] | type[BlitzGammon] | type[Nardeon] | type[Season0]

RULESETS: Mapping[str, RulesetType] = {kind.name: kind for kind in (Gammon42, BlitzGammon, Nardeon, Season0)}
"""Every rating system by the name that a pool gives as its `ruleset`."""

_POOL_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HINT = 'add a table such as [pools.gammon42] with ruleset = "gammon42"'


@dataclass(frozen=True, slots=True)
class Pool:
    """One rating ladder: its name, and the rules with its own settings."""

    name: str
    rules: Ruleset


def parse_pools(text: str) -> dict[str, Pool]:
    """Return the pools of a pools file (TOML) by name, in its order.

    Raises PoolsError, `line N: ...`, for what is not TOML, unknown keys, bad values, and a file without pools.
    """
    return _PoolsFile(text).pools()


@dataclass(frozen=True, slots=True)
class _PoolsFile:
    text: str

    def pools(self) -> dict[str, Pool]:
        try:
            document = tomllib.loads(self.text)
        except ValueError as error:
            raise PoolsError(f"line {line_of_error(self.text, error)}: not TOML: {error}") from error
        for key in document:
            if key != "pools":
                self._unknown_key((key,), ("pools",))
        tables = document.get("pools")
        if tables is None:
            raise PoolsError(f"line 1: there is no pool; {_HINT}")
        if not isinstance(tables, dict):
            self._refuse(("pools",), f"must be a table of pools; {_HINT}")
        if not tables:
            self._refuse(("pools",), f"has no pool; {_HINT}")
        return {name: self._pool(name, table) for name, table in tables.items()}

    def _pool(self, name: str, table: object) -> Pool:
        here: Path = ("pools", name)
        if not _POOL_NAME.fullmatch(name):
            self._refuse(here, "is no name for a pool; use 1 to 32 of a-z, 0-9 and -, and begin with a letter or digit")
        if not isinstance(table, dict):
            self._refuse(here, f"must be a table; write [pools.{name}] and its settings below it")
        kind = self._ruleset(here, table)
        settings = {key: value for key, value in table.items() if key != "ruleset"}
        known = [field.name for field in fields(kind) if field.init]
        for key in settings:
            if key not in known:
                self._unknown_key((*here, key), ("ruleset", *known))
        if "versions" in settings:
            settings["versions"] = tuple(self._versions((*here, "versions"), settings["versions"]))
        if "k_tiers" in settings:
            settings["k_tiers"] = tuple(self._k_tiers((*here, "k_tiers"), settings["k_tiers"]))
        try:
            return Pool(name, kind(**settings))
        except SettingError as error:
            self._refuse_setting(here, table, error)

    def _ruleset(self, pool: Path, table: Mapping[str, Any]) -> RulesetType:
        names = ", ".join(RULESETS)
        if "ruleset" not in table:
            self._refuse(pool, f"has no ruleset; add one of: {names}")
        ruleset = table["ruleset"]
        if not isinstance(ruleset, str) or ruleset not in RULESETS:
            self._refuse((*pool, "ruleset"), f"must be one of: {names}; not {ruleset!r}{_nearest(ruleset, RULESETS)}")
        return RULESETS[ruleset]

    def _versions(self, here: Path, value: object) -> Iterable[FormulaStart]:
        for entry, item in self._entries(here, value, ("version", "from")):
            at = item["from"]
            start = _instant_ms(at)
            if start is None:
                shown = at.isoformat() if hasattr(at, "isoformat") else at
                self._refuse(
                    (*here, entry, "from"),
                    f'must be an instant with a zone, such as "2026-10-01T00:00:00Z", not {shown!r}',
                )
            yield FormulaStart(item["version"], start)

    def _k_tiers(self, here: Path, value: object) -> Iterable[KTier]:
        for _, item in self._entries(here, value, ("from_games", "k")):
            yield KTier(item["from_games"], item["k"])

    def _entries(self, here: Path, value: object, keys: Sequence[str]) -> Iterable[tuple[int, Mapping[str, Any]]]:
        shape = "{ " + ", ".join(f"{key} = ..." for key in keys) + " }"
        if not isinstance(value, list):
            self._refuse(here, f"must be a list of {shape}, not {value!r}")
        for entry, item in enumerate(value):
            if not isinstance(item, dict):
                self._refuse((*here, entry), f"must be {shape}, not {item!r}")
            for key in item:
                if key not in keys:
                    self._unknown_key((*here, entry, key), keys)
            for key in keys:
                if key not in item:
                    self._refuse((*here, entry), f"has no {key}; write {shape}")
            yield entry, item

    def _refuse_setting(self, pool: Path, table: Mapping[str, Any], error: SettingError) -> NoReturn:
        path: Path = (*pool, error.setting) if error.setting in table else pool
        if error.entry is not None:
            path = (*path, error.entry)
        raise PoolsError(f"line {line_of(self.text, path)}: {_dotted(pool)}.{error}") from error

    def _unknown_key(self, path: Path, known: Sequence[str]) -> NoReturn:
        self._refuse(path, f"is not known here{_nearest(path[-1], known)}; the keys are: {', '.join(known)}")

    def _refuse(self, path: Path, problem: str) -> NoReturn:
        raise PoolsError(f"line {line_of(self.text, path)}: {_dotted(path)} {problem}")


def _nearest(word: object, known: Iterable[str]) -> str:
    close = get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _dotted(path: Path) -> str:
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            shown += ("." if shown else "") + (step if re.fullmatch(r"[A-Za-z0-9_-]+", step) else repr(step))
    return shown


def _instant_ms(value: object) -> int | None:
    """Return an instant, as TOML's own or as text, in UTC milliseconds since 1970; None if it is not one."""
    if isinstance(value, str):
        written = _INSTANT.fullmatch(value)
        if written is None:
            return None
        seconds, fraction, zone = written.groups()
        try:
            value = datetime.fromisoformat(f"{seconds}.{(fraction or '')[:3]:0<3}{'+00:00' if zone == 'Z' else zone}")
        except ValueError:
            return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    return (value - _EPOCH) // timedelta(milliseconds=1)
