"""What a store keeps of an item that changes, with every option, in each kind of store."""

import asyncio
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

import pytest

from gossamer.core.jobs import ItemFilter
from gossamer.drivers.sqlite.database import Database
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.items import MongoItemReader
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.items import PostgresItemReader
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.items import SqliteItemReader
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from kit.servers import on_servers

A, B, C = (b'{"price":%d}' % number for number in (1, 2, 3))


@dataclass
class Place:
    store: Any
    reader: Any
    book: Any
    keeps_each: bool = False  # also one of a value that is kept already

    async def see(self, job, data, at):
        await self.store.write(job, [make_visit_result(make_item("1", data), at=at)])

    async def versions(self):
        found = await self.reader.read_versions("shop", "Product", "1")
        return [(item.data["price"], item.changed_at, item.last_seen) for item in found]

    async def price_of(self, job):
        (item,) = [item async for item in self.store.read_items(job)]
        return item.data["price"]


@pytest.fixture(params=["sqlite", *on_servers("postgres", "mongo")])
def open_place(request, tmp_path):
    """From a store's options to a place that has it."""

    @asynccontextmanager
    async def open_place(**options):
        if request.param == "sqlite":
            with closing(Database(tmp_path / "store.db")) as db:
                yield Place(
                    SqliteStore(db, **options), SqliteItemReader(db), SqliteJobStore(db, ManualClock())
                )
            return
        if request.param == "mongo":
            mongo = schema.make_server(request.getfixturevalue("mongo_url"))
            store, book = (
                MongoStore(mongo, seen_resolution_s=0, **options),
                MongoJobStore(mongo, ManualClock()),
            )
            yield Place(store, MongoItemReader(mongo), book, keeps_each=True)
            await mongo.close()
            return
        server = make_server(request.getfixturevalue("postgres_url"))
        try:
            store = PostgresStore(server, seen_resolution_s=0, **options)
            yield Place(store, PostgresItemReader(server), PostgresJobStore(server, ManualClock()))
        finally:
            await server.close()

    return open_place


async def test_with_history_every_version_is_kept_also_one_that_comes_back(open_place):
    async with open_place(history=True) as place:
        job = await place.book.create("shop", "shop.py")
        for at, data in enumerate((A, B, B, A), 1):
            await place.see(job, data, float(at))
        assert await place.versions() == [(1, 4.0, 4.0), (2, 2.0, 3.0), (1, 1.0, 1.0)]
        assert await place.price_of(job) == 1


async def test_without_history_what_only_the_job_saw_is_let_go_of(open_place):
    async with open_place() as place:
        job = await place.book.create("shop", "shop.py")
        for at, data in enumerate((A, B, C), 1):
            await place.see(job, data, float(at))
        assert await place.versions() == [(3, 3.0, 3.0)]


@pytest.mark.parametrize("history", [False, True])
async def test_each_job_keeps_the_value_that_it_saw_when_an_item_changes_back_and_forth(open_place, history):
    async with open_place(history=history) as place:
        jobs = [await place.book.create("shop", "shop.py") for _ in range(4)]
        for at, (job, data) in enumerate(zip(jobs, (A, B, A, C), strict=True), 1):
            await place.see(job, data, float(at))
        assert [await place.price_of(job) for job in jobs] == [1, 2, 1, 3]
        kept = [3, 1, 2, 1] if history or place.keeps_each else [3, 2, 1]
        assert [price for price, *_ in await place.versions()] == kept
        part = await place.reader.page_items(jobs[0], 10, ItemFilter())
        assert [item.data["price"] for item in part.items] == [1]  # once, though it had the value twice


async def test_an_item_changes_again_only_after_the_interval(open_place):
    async with open_place(min_interval_s=60) as place:
        job = await place.book.create("shop", "shop.py")
        for at, data in ((0, A), (59, B), (60, B), (119, C), (120, C)):
            await place.see(job, data, float(at))
            found = await place.versions()
            expected = {0: (1, 0), 59: (1, 0), 60: (2, 60), 119: (2, 60), 120: (3, 120)}[at]
            assert found == [(*expected, float(at))], at


async def test_versions_are_those_of_one_item_and_no_more_than_asked_for(open_place):
    async with open_place(history=True) as place:
        jobs = [await place.book.create(name, "x") for name in ("shop", "other")]
        for at, data in enumerate((A, B, C), 1):
            await place.see(jobs[0], data, float(at))
        await place.see(jobs[1], A, 1.0)
        found = await place.reader.read_versions("shop", "Product", "1", 2)
        assert [item.data["price"] for item in found] == [3, 2]
        assert found[1].first_seen == 1.0
        assert await place.reader.read_versions("shop", "Product", "2") == []


async def test_a_filter_of_the_time_looks_at_the_value_that_the_job_saw(open_place):
    async with open_place() as place:
        jobs = [await place.book.create("shop", "shop.py") for _ in range(2)]
        await place.see(jobs[0], A, 1.0)
        await place.see(jobs[1], B, 5.0)
        since = ItemFilter(changed_since=2.0, type="Product")
        counts = [
            len([item async for item in place.store.read_items(job, which=since)]) for job in (*jobs, None)
        ]
        assert counts == [0, 1, 1]
        assert not [item async for item in place.store.read_items(which=ItemFilter(type="Produc"))]


async def test_many_that_find_the_same_new_items_at_once_have_all_seen_them(open_place):
    """Whoever comes second cannot see yet what the first has added, and changes nothing of it."""
    async with open_place() as place:
        jobs = [await place.book.create("shop", "shop.py") for _ in range(4)]
        results = [
            make_visit_result(*(make_item(str(n), A) for n in range(part, part + 40)), at=1.0)
            for part in range(0, 400, 40)
        ]
        await asyncio.gather(*(place.store.write(job, [result]) for result in results for job in jobs))
        for job in jobs:
            assert len([item async for item in place.store.read_items(job)]) == 400
            assert (await place.store.read_totals(job)).items == 400
