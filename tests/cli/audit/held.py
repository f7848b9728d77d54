"""What tables in memory hold, in the pieces in which an audit reads them from Redis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.cli.audit.season import Season
from worker.cli.audit.compare_facts import Seen, compare_links, compare_prizes, compare_records, unseen_records
from worker.cli.audit.compare_players import compare_players, compare_total, sum_of_ratings
from worker.cli.audit.difference import First
from worker.cli.audit.run import Audited
from worker.ratings.rows import MatchRecord
from worker.tables.memory import MemoryStore
from worker.tables.packing import pack_record, prize_field, record_version, unpack_record, unpack_row
from worker.tables.pieces import Fields, HeldPlayer, Players


@dataclass
class Held:
    """What a store holds; a test may falsify it after `of`."""

    rows: dict[str, bytes]
    scores: dict[str, float]
    windows: dict[str, list[tuple[str, float]]]
    records: dict[str, bytes]
    prizes: dict[bytes, bytes]
    links: dict[str, bytes]
    horizon_ms: int = 0

    @staticmethod
    def of(store: MemoryStore) -> "Held":
        return Held(
            dict(store.players),
            {player_id: -unpack_row(store.players[player_id]).rating for player_id in store.shown},
            {player_id: [(name.decode(), at) for at, name in games] for player_id, games in store.windows.items()},
            dict(store.matches),
            {field.encode(): prize for field, prize in store.prizes.items()},
            dict(store.links),
            store.horizon_ms,
        )

    def players(self, player_ids: Sequence[str]) -> Players:
        found = {
            player_id: HeldPlayer(self.rows.get(player_id), self.scores.get(player_id), self.windows.get(player_id, []))
            for player_id in player_ids
        }
        return Players(0, self.horizon_ms, found)

    def fields(self, held: Mapping[bytes, bytes], asked: Sequence[bytes] = ()) -> Fields:
        return Fields(0, self.horizon_ms, held, asked)


def rewritten(held: Held, match_id: str, falsify: Callable[[MatchRecord], MatchRecord]) -> None:
    """Hold another record of a match, packed as the tables do."""
    record = falsify(unpack_record(held.records[match_id]))
    held.records[match_id] = f"{record_version(record)} {record.position} ".encode() + pack_record(record)


def compared(season: Season, held: Held, audited: Audited | None = None) -> str | None:
    """Compare all that is held with a season's replay; return the first difference as a sentence."""
    replay, inputs = (audited or season.audit()).replay, season.inputs()
    first, seen = First(), Seen()
    everyone = list(dict.fromkeys((*held.rows, *held.scores, *replay.rows)))
    piece = held.players(everyone)
    records = {match_id.encode(): record for match_id, record in held.records.items()}
    links = {player_id.encode(): link for player_id, link in held.links.items()}
    found = [
        *compare_players(piece, replay),
        *compare_records(held.fields(records), replay, inputs, seen),
        *compare_prizes(held.fields(held.prizes, [prize_field(key).encode() for key in replay.prizes]), replay),
        *compare_links(held.fields(links, [name.encode() for name in replay.links]), replay),
    ]
    left = unseen_records(seen, replay, held.horizon_ms)
    found += compare_records(held.fields({}, left), replay, inputs, seen)
    for difference in (*found, compare_total(sum_of_ratings(piece), replay)):
        first.add(difference)
    return None if first.difference is None else first.difference.sentence
