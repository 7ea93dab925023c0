"""A feed of changes without transactions: whoever writes at once, is late or is killed."""

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.store.mongodb import change_numbers, values
from gossamer.store.mongodb.change_numbers import PLACE, settle_numbers
from gossamer.store.mongodb.changes import MongoChangeFeed
from gossamer.store.mongodb.schema import make_server
from gossamer.store.mongodb.store import MongoStore
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from kit.lossy_way import LossyWay

STALE_S = 36_000.0
"""Nobody is late on a machine that stands still for a while."""
JOB = Job(id="shop-1", name="shop", target="t", created_at=0.0)


class Reader:
    """Goes on from its place, and keeps what it was told."""

    def __init__(self, feed):
        self.feed, self.place, self.told = feed, "", []

    async def read(self):
        while True:
            part = await self.feed.read_changes(self.place, 2)
            if part.last == self.place:
                return self.told
            self.told += [(item.key, item.data["n"]) for item in part.items]
            self.place = part.last


@asynccontextmanager
async def opened(url, *, follows_changes=True, patience_s=30.0):
    server = make_server(url, patience_s=patience_s)
    try:
        yield MongoStore(server, follows_changes=follows_changes), Reader(MongoChangeFeed(server))
    finally:
        await server.close()


async def age_writers(reader):
    """What is open was begun so much earlier, by the clock of the server."""

    async def age(db):
        found = (await db["feed"].find_one(PLACE))["open"]
        older = {
            f"open.{name}.at": taken["at"] - timedelta(seconds=STALE_S + 1) for name, taken in found.items()
        }
        if older:
            await db["feed"].update_one(PLACE, {"$set": older})

    await reader.feed._server.run(age)


async def see(store, at, **found):
    items = [make_item(key, b'{"n":%d}' % value) for key, value in found.items()]
    await store.write(JOB, [make_visit_result(*items, at=at)])


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(change_numbers, "STALE_S", STALE_S)


@pytest.fixture
def gate(monkeypatch):
    """The first writer stands before it with its numbers taken, and everybody else goes on."""
    reached, opens = asyncio.Event(), asyncio.Event()
    write = values._write_items

    async def write_behind_gate(*arguments):
        if not reached.is_set():
            reached.set()
            await opens.wait()
        return await write(*arguments)

    monkeypatch.setattr(values, "_write_items", write_behind_gate)
    return reached, opens


async def test_who_writes_is_waited_for_and_nothing_comes_before_what_was_read(mongo_url, gate):
    """A bug it would catch: of two writers the later one is read, and the place of the other is passed."""
    async with opened(mongo_url) as (store, reader):
        reached, opens = gate
        first = asyncio.create_task(see(store, 1.0, a=1, b=1))
        await reached.wait()
        await see(store, 2.0, b=2, c=2)
        assert await reader.read() == []
        assert await reader.feed.count_changes("", 9) == 2
        opens.set()
        await first
        assert await reader.read() == [("a", 1), ("b", 2), ("c", 2)]


async def test_who_is_late_holds_up_nobody_and_is_told_later(mongo_url, gate):
    """Bugs it would catch: a worker that was suspended ends all outputs, or what it writes then is lost."""
    async with opened(mongo_url) as (store, reader):
        reached, opens = gate
        late = asyncio.create_task(see(store, 3.0, a=3, b=3))
        await reached.wait()
        await see(store, 2.0, b=2, c=2)
        assert await reader.read() == []
        await age_writers(reader)
        assert await reader.read() == [("b", 2), ("c", 2)]
        opens.set()
        await late
        other = Reader(reader.feed)
        await asyncio.gather(reader.read(), other.read())
        for one in (reader, other):
            await one.read()
            assert sorted(one.told[-2:]) == [("a", 3), ("b", 3)]
            assert len(one.told) == len(set(one.told))


async def test_how_long_somebody_writes_is_told_by_the_servers_clock(mongo_url, gate):
    """A writer whose machine was an hour ahead held up all outputs for an hour when it was killed."""
    async with opened(mongo_url) as (store, reader):
        reached, opens = gate
        server = reader.feed._server

        async def read_time(db):
            return (await db.command("hello"))["localTime"]

        before = await server.run(read_time)
        writing = asyncio.create_task(see(store, 1.0, a=1))
        await reached.wait()
        feed = await server.run(lambda db: db["feed"].find_one(PLACE))
        (taken,) = feed["open"].values()
        assert isinstance(taken["at"], datetime)
        assert before <= taken["at"] <= await server.run(read_time)
        opens.set()
        await writing


async def test_numbers_that_an_earlier_version_noted_in_seconds_are_read(mongo_url):
    """A bug it would catch: nothing is written or told after an update, since somebody was killed before."""
    async with opened(mongo_url) as (store, reader):
        await see(store, 1.0, a=1)
        noted = {
            "open.killed": {"first": 2, "last": 3, "at": 1.0e9},
            "late.older": {"first": 0, "last": 0, "at": 1.0e9},
        }
        await store._server.run(lambda db: db["feed"].update_one(PLACE, {"$set": {"value": 3, **noted}}))
        await see(store, 2.0, a=2)
        assert await reader.read() == [("a", 2)]


async def test_what_is_late_and_comes_just_while_it_is_read_is_told_once(mongo_url, gate, monkeypatch):
    """A bug it would catch: it is told with its old number, and with its new one again."""
    async with opened(mongo_url) as (store, reader):
        reached, opens = gate
        late = asyncio.create_task(see(store, 3.0, a=3, b=3))
        await reached.wait()
        await see(store, 2.0, b=2, c=2)
        await age_writers(reader)

        async def settle_and_let_in(db):
            state = await settle_numbers(db)
            opens.set()
            await late
            return state

        monkeypatch.setattr("gossamer.store.mongodb.changes.settle_numbers", settle_and_let_in)
        assert sorted(await reader.read()) == [("a", 3), ("b", 3), ("c", 2)]


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.thorough)])
async def test_a_batch_that_is_killed_anywhere_is_told_once_when_another_has_written_it(mongo_url, step):
    """Bugs it would catch: what a killed worker had stored is never told, or is told again."""
    way = LossyWay(mongo_url)
    async with (
        way.opened() as url,
        opened(url, patience_s=0.0) as (killed, _),
        opened(mongo_url) as (store, reader),
    ):
        await see(store, 0.0, a=0)
        told = list(await reader.read())
        for number in range(2, 12, step):
            way.loses = range(way.commands + number, 10**9)
            with suppress(StorageError):
                await see(killed, float(number), a=number, b=number)
            await see(store, float(number), c=number)
            await reader.read()
            await see(store, float(number), a=number, b=number)
            await age_writers(reader)
            told += [(key, number) for key in "abc"]
            assert sorted(await reader.read()) == sorted(told), f"killed after {number} commands"


async def test_nothing_is_numbered_where_nobody_asks_for_changes(mongo_url):
    """It would cost every batch three commands."""
    async with opened(mongo_url, follows_changes=False) as (store, _):
        await see(store, 1.0, a=1)
        assert await store._server.run(lambda db: db["feed"].find().to_list()) == []
        (item,) = await store._server.run(lambda db: db["item"].find().to_list())
        assert "change" not in item
