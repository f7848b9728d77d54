"""What can go wrong with the tables, apart from a Redis that is away for a while."""


class LostWritesError(Exception):
    """Redis no longer holds what it had confirmed; nothing may be rated on it. Names pool, partition and offsets."""


class HoleError(Exception):
    """What was read does not begin where a marker stands: settling it would skip records. Names partition, offsets."""


class FormatError(Exception):
    """The tables were written by a version that lays them out in another way."""
