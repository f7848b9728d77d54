"""What is read of a pool piece by piece is all that it holds, on one Redis and in a cluster."""

import asyncio

import pytest

from tests.cli.audit.held import Held
from tests.cli.audit.season import SEASONS, Season
from tests.ratings.ladder import POOLS
from worker.ratings.delivery import Delivery, Source
from worker.stream.apply import Progress, Target, apply
from worker.stream.decode import Decoder
from worker.stream.inputs import INPUTS
from worker.tables import pieces
from worker.tables.connect import connect
from worker.tables.pieces import Fields, Pieces
from worker.tables.redis import RedisTables
from worker.tables.tables import PoolTables


@pytest.fixture(params=["redis_server", "redis_cluster"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param).url
    return found


async def rate(season: Season, tables: PoolTables) -> None:
    """Have the season's inputs rated on other tables, as they were on its own."""
    target = Target(season.pool, season.configured, tables, "")
    decoders = {kind: Decoder(kind, POOLS) for kind in INPUTS}
    for record in season.given:
        source = Source(record.topic, record.partition, record.offset)
        delivery = Delivery(source, record.timestamp, record.key, record.value)
        await apply(target, [decoders[record.topic].decode(delivery)], Progress(0, {}))


async def held(found: Pieces, position: int) -> Held:
    """Return all that the pieces have, each read at this position."""
    ids = [name async for some in found.player_ids() for name in some]
    shown = [name async for some in found.shown_ids() for name in some]
    everything = Held({}, {}, {}, {}, {}, {})
    async for piece in found.players([*ids, *(name for name in shown if name not in ids), "nobody"]):
        assert piece.position == position
        everything.horizon_ms = piece.horizon_ms
        for name, player in piece.held.items():
            everything.rows |= {} if player.row is None else {name: player.row}
            everything.scores |= {} if player.score is None else {name: player.score}
            everything.windows |= {name: [*player.games]} if player.games else {}

    async def whole(name: str) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        async for piece in found.hash_of(name):
            assert (piece.position, piece.asked) == (position, ())
            fields |= piece.held
        return fields

    everything.records = {name.decode(): record for name, record in (await whole("matches")).items()}
    everything.prizes = await whole("prizes")
    everything.links = {name.decode(): link for name, link in (await whole("aliases")).items()}
    return everything


@pytest.mark.parametrize("pool", SEASONS)
def test_pieces_have_all_that_a_pool_holds(
    url: str, pool: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_PLAYERS_AT_ONCE", 2)
    season = SEASONS[pool]()

    async def read() -> Held:
        client = connect(url)
        await rate(season, RedisTables(client, namespace, pool, "run"))
        found = Pieces(client, namespace, pool)
        try:
            assert await found.position() == season.store.position
            assert await found.sizes() == (len(season.store.players), len(season.store.matches))
            return await held(found, season.store.position)
        finally:
            await client.aclose()

    assert asyncio.run(read()) == Held.of(season.store)


def test_some_fields_and_the_outbox_are_read_too(url: str, namespace: str) -> None:
    season = SEASONS["gammon42"]()

    async def read() -> tuple[list[Fields], list[int]]:
        client = connect(url)
        await rate(season, RedisTables(client, namespace, "gammon42", "run"))
        found = Pieces(client, namespace, "gammon42")
        try:
            some = [piece async for piece in found.fields_of("matches", [b"m-1", b"m-9"])]
            return some, [entry.position for entry in await found.waiting() if entry.position]
        finally:
            await client.aclose()

    some, positions = asyncio.run(read())
    assert [(piece.position, [*piece.held], piece.asked) for piece in some] == [(7, [b"m-1"], [b"m-1", b"m-9"])]
    assert positions == [1, 2, 3, 4, 5, 6, 7]
