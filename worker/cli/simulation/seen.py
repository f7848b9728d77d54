"""What a worker has seen that has read everything in the order of publication."""

from collections import defaultdict

from worker.cli.simulation.identities import Identity
from worker.cli.simulation.platforms import Played
from worker.cli.simulation.scenario import Kind


class Seen:
    """Until when each player of each pool has been seen to play, and which identities are linked."""

    def __init__(self) -> None:
        self.linked: defaultdict[str, list[Identity]] = defaultdict(list)
        self._newest: dict[tuple[str, str], int] = {}
        self._accounts: dict[tuple[str, str], str] = {}

    def newest_ms(self, pool: str, player_id: str) -> int | None:
        """Return the newest finished_at of that player's rated matches (UTC milliseconds), None without any."""
        return self._newest.get(self._player(pool, player_id))

    def match(self, played: Played) -> Kind:
        """Note a rated match, and return whether it came late for one of its players."""
        kind, pool = Kind.MATCH, str(played.event["pool"])
        for person in (played.winner, played.loser):
            player = self._player(pool, person.id)
            if self._newest.get(player, played.finished_at_ms) > played.finished_at_ms:
                kind = Kind.LATE
            else:
                self._newest[player] = played.finished_at_ms
        return kind

    def link(self, pool: str, identity: Identity) -> None:
        """Note a link: a new account takes over until when its anonymous id had played, another keeps its own."""
        anonymous, account = (pool, identity.anonymous.id), (pool, identity.account.id)
        if account not in self._newest and anonymous in self._newest:
            self._newest[account] = self._newest[anonymous]
        self._accounts[anonymous] = identity.account.id
        self.linked[pool].append(identity)

    def _player(self, pool: str, player_id: str) -> tuple[str, str]:
        return pool, self._accounts.get((pool, player_id), player_id)
