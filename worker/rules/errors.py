"""What is wrong with a pool's settings."""


class SettingError(ValueError):
    """A setting of a ruleset that cannot be used; `setting` is its name, `entry` its index where it is a list."""

    def __init__(self, setting: str, problem: str, entry: int | None = None) -> None:
        where = setting if entry is None else f"{setting}[{entry}]"
        super().__init__(f"{where} {problem}")
        self.setting = setting
        self.entry = entry


class PoolsError(ValueError):
    """A pools file that cannot be used. The message is one line, `line N: ...`, and says what to change."""
