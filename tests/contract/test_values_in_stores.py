"""Whatever value an item has, it comes out of every store as it went in, and loses nobody else's."""

import asyncio
from contextlib import asynccontextmanager, closing

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from gossamer.core.jobs import Job
from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.store import MemoryStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.item_values import item_records
from kit.servers import on_servers

GOOD = make_item("good")
EXAMPLES = 25


def as_stored(value):
    """What a store that cannot keep NUL makes of a value; large numbers as floats, as JSON has them."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, int | float) and abs(value) >= 1e16:
        return float(value)
    if isinstance(value, list):
        return [as_stored(element) for element in value]
    if isinstance(value, dict):
        return {as_stored(name): as_stored(element) for name, element in value.items()}
    return value


NUMBERS = {
    "whole": 1.0, "large": 1e16, "larger": -1.5e17, "largest": 1.7976931348623157e308, "tiny": 5e-324,
    "exact": 2.0**53, "count": 10**16, "long": 10**20, "mixed": [1, 2.5, 1e300], "below": {"x": 1e22, "y": 3},
}  # fmt: skip


@asynccontextmanager
async def open_store(kind, folder, request):
    if kind == "memory":
        yield MemoryStore()
    elif kind == "sqlite":
        with closing(Database(folder / "store.db")) as db:
            yield SqliteStore(db, history=True, follows_changes=True)
    else:
        server = make_server(request.getfixturevalue("postgres_url"))
        try:
            yield PostgresStore(server, history=True, follows_changes=True)
        finally:
            await server.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite", *on_servers("postgres")])
def test_any_item_is_stored_equal_beside_others(kind, tmp_path, request):
    loop = asyncio.new_event_loop()
    numbers = iter(range(10**6))
    opened = open_store(kind, tmp_path, request)
    store = loop.run_until_complete(opened.__aenter__())

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(item_records())
    def keep(record):
        job = Job(id=f"shop-{next(numbers)}", name="shop", target="t", created_at=0.0)

        async def write_and_read():
            await store.write(job, [make_visit_result(record, GOOD, at=1.0)])
            return [item async for item in store.read_items(job)]

        found = {(item.type, item.key): item.data for item in loop.run_until_complete(write_and_read())}
        assert found[GOOD.type, GOOD.key] == {"name": "x"}
        data = msgspec.json.decode(record.data)
        kept = [value for place, value in found.items() if place != (GOOD.type, GOOD.key)]
        assert kept == [data] or as_stored(kept) == [as_stored(data)]

    try:
        keep()
    finally:
        loop.run_until_complete(opened.__aexit__(None, None, None))
        loop.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite", *on_servers("postgres")])
async def test_numbers_keep_their_types(kind, tmp_path, request):
    """So that an export to Parquet has the same columns from each store."""
    job = Job(id="numbers-1", name="numbers", target="t", created_at=0.0)
    async with open_store(kind, tmp_path, request) as store:
        await store.write(job, [make_visit_result(make_item("k", msgspec.json.encode(NUMBERS)), at=1.0)])
        (item,) = [item async for item in store.read_items(job)]
    assert item.data == NUMBERS
    assert repr(item.data) == repr(NUMBERS)
