"""Every feed of changes keeps every promise of its contract."""

from contextlib import asynccontextmanager, closing

import pytest

from gossamer.core.changes import OutputPosition
from gossamer.core.jobs import Job
from gossamer.drivers.sqlite.database import Database
from gossamer.store.mongodb import schema as mongodb
from gossamer.store.mongodb.changes import MongoChangeFeed
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.changes import PostgresChangeFeed
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.changes import SqliteChangeFeed
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.change_feed import CHANGE_FEED_CHECKS, FeedSubject, check_change_feed
from gossamer.testing.contracts.store_harness import make_item, make_visit_result


def sqlite_in(folder, feed=SqliteChangeFeed):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "store.db")) as db:
            yield FeedSubject(feed(db), SqliteStore(db, follows_changes=True), SqliteJobStore(db, clock))
        (folder / "store.db").unlink()

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = make_server(url)
        try:
            store = PostgresStore(server, follows_changes=True)
            yield FeedSubject(PostgresChangeFeed(server), store, PostgresJobStore(server, clock))
        finally:
            await server.close()

    return make


def mongodb_at(url):
    @asynccontextmanager
    async def make(clock):
        server = mongodb.make_server(url)
        try:
            store = MongoStore(server, follows_changes=True)
            yield FeedSubject(MongoChangeFeed(server), store, MongoJobStore(server, clock))
        finally:
            await server.close()

    return make


MANY = "of_many_writers_nothing_is_missed_and_nothing_told_twice"
CASES = [
    pytest.param(
        kind, name, marks=[*marks, *([pytest.mark.thorough] if (kind, name) == ("mongodb", MANY) else [])]
    )
    for kind, marks in (("sqlite", []), ("postgres", [pytest.mark.server]), ("mongodb", [pytest.mark.server]))
    for name in CHANGE_FEED_CHECKS
]


@pytest.fixture
def make(request, tmp_path):
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    if request.param == "mongodb":
        return mongodb_at(request.getfixturevalue("mongo_url"))
    return postgres_at(request.getfixturevalue("postgres_url"))


@pytest.mark.parametrize(("make", "name"), CASES, indirect=["make"])
async def test_contract(make, name):
    await CHANGE_FEED_CHECKS[name](make)


async def test_the_suite_runs_every_check(tmp_path):
    await check_change_feed(sqlite_in(tmp_path))
    assert len(CHANGE_FEED_CHECKS) >= 5


async def test_the_suite_catches_a_feed_that_lets_two_write_one_output(tmp_path):
    class Careless(SqliteChangeFeed):
        async def save_position(self, output, position, former):
            known = (await self.read_positions()).get(output)
            return await super().save_position(output, position, known)

    with pytest.raises(AssertionError, match="not from elsewhere"):
        await CHANGE_FEED_CHECKS["a_position_moves_only_from_where_it_was"](sqlite_in(tmp_path, Careless))


async def test_a_transaction_that_is_under_way_is_waited_for(postgres_url):
    """What it changes has an earlier place than what others have stored meanwhile."""
    server, other = make_server(postgres_url), make_server(postgres_url)
    feed = PostgresChangeFeed(server)
    await server.migrate_schema()
    try:
        job = Job(id="shop-1", name="shop", target="t", created_at=0.0)
        store = PostgresStore(server, follows_changes=True)

        async def hold(conn):
            async with conn.transaction():
                await conn.execute("INSERT INTO item_change (item) VALUES (1)")
                await store.write(job, [make_visit_result(make_item("1"), at=1.0)])
                return await feed.read_changes("", 10)

        during = await other.run(hold)
        assert during.last == ""
        after = await feed.read_changes("", 10)
        assert [item.key for item in after.items] == ["1"]
        assert await feed.count_changes("", 10) == 2
    finally:
        await server.close()
        await other.close()


async def test_a_database_that_came_from_another_server_goes_on(postgres_url):
    """There transactions had greater numbers: new changes stood before what outputs had, and were deleted."""
    server = make_server(postgres_url)
    await server.migrate_schema()
    feed, store = PostgresChangeFeed(server), PostgresStore(server, follows_changes=True)
    job = Job(id="shop-1", name="shop", target="t", created_at=0.0)
    try:
        await feed.save_position("lines", OutputPosition(), None)
        await store.write(job, [make_visit_result(make_item("1"), at=1.0)])
        await server.run(lambda conn: conn.execute("UPDATE item_change SET xid = '5000000000'"))
        place = f"{4_999_999_999:020d}-{1:019d}"
        copied = OutputPosition(done=place, planned=place, state=b"x")
        await feed.save_position("lines", copied, OutputPosition())
        await store.write(job, [make_visit_result(make_item("2"), at=2.0)])
        await feed.forget_changes()
        position = (await feed.read_positions())["lines"]
        assert await feed.count_changes(position.done, 10) == 2
        changes = await feed.read_changes(position.done, 10)
        assert sorted(item.key for item in changes.items) == ["1", "2"]
        assert (await feed.read_positions())["lines"] == position == OutputPosition()
    finally:
        await server.close()
