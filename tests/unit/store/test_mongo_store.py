"""What MongoDB has no transactions for: batches that are sent twice, or of which a part was written."""

from contextlib import asynccontextmanager

import msgspec
import pytest
from bson import decode, encode
from hypothesis import given, settings
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.results import Attempt, Verdict
from gossamer.drivers.mongodb.server import CODEC
from gossamer.store.mongodb.documents import TooLargeError, field_of, fields_of, name_of, read_fields
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.schema import make_server
from gossamer.store.mongodb.series import MongoSeries
from gossamer.store.mongodb.store import MongoStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.item_values import item_records
from kit.lossy_way import LossyWay

LOST = Attempt(at=3.0, url="http://a/3", fingerprint=3, verdict=Verdict.RETRY, reason="server", status=503)


@asynccontextmanager
async def opened(url, patience_s=30.0):
    server = make_server(url, patience_s=patience_s)
    try:
        yield server
    finally:
        await server.close()


def batch(number):
    """A batch with something of everything, in which an item of the batch before has changed."""
    items = [make_item(key, b'{"n":%d}' % number) for key in "ab"]
    return [
        make_visit_result(*items, at=10.0 * number, number=number),
        make_visit_result(make_item("a", b'{"n":%d}' % number), at=10.0 * number + 1, number=number + 100),
    ]


async def look(server, job):
    """All that was stored of a job, as far as it has to be the same."""
    store = MongoStore(server)
    totals = await store.read_totals(job)
    steps = await MongoSeries(server).read_steps(job, 0, 3600, 3600)
    items = [(item.key, item.data, item.last_seen) async for item in store.read_items(job)]
    attempts = [(row.url, row.reason) for row in await store.latest_attempts(job)]
    return totals, steps, items, sorted(attempts)


async def write_all(server, job, other):
    store = MongoStore(server)
    await store.write(job, batch(1))
    await store.record_attempts(job, [LOST])
    await store.write(other, batch(2))
    await store.mark_stale(job, [LOST])


async def test_of_what_several_writers_were_told_the_largest_number_counts(mongo_url):
    async with opened(mongo_url) as server:
        job = await MongoJobStore(server, ManualClock()).create("shop", "")
        for number, total in enumerate((4213, 4215, 4214), 1):
            await MongoStore(server).write(
                job, [replace(make_visit_result(number=number), expected={"products//": total})]
            )
        totals = await MongoStore(server).read_totals(job)
    assert (totals.expected, totals.pages) == ({"products//": 4215}, 3)


@pytest.mark.long
@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.thorough)])
async def test_whatever_answer_is_lost_everything_is_there_once(mongo_url, step):
    """A bug it would catch: a command that is sent again adds to what it has added already."""
    way = LossyWay(mongo_url)
    found = []
    async with way.opened() as url, opened(url) as server:
        book = MongoJobStore(server, ManualClock())
        lost = 0
        while True:
            job, other = await book.create(f"shop{lost}", ""), await book.create(f"shop{lost}", "")
            first = way.commands
            way.loses = range(first + lost - 1, first + lost)
            await write_all(server, job, other)
            is_last = way.commands <= first + lost - 1
            way.loses = range(0)
            found.append((await look(server, job), await look(server, other)))
            assert found[-1] == found[0], f"the answer to command {lost} of each was lost"
            if is_last:
                break
            lost += step
    ((totals, steps, _, _), (later, _, _, _)) = found[0]
    assert lost > 20
    assert (totals.pages, totals.items, totals.duplicates, totals.attempts) == (2, 2, 1, 3)
    assert (totals.by_reason, later.items) == ({"stale": 1}, 2)
    assert sum(step.values["items"] for step in steps) == 2


@pytest.mark.long
async def test_whoever_is_killed_within_a_batch_leaves_nothing_that_is_counted_twice(mongo_url):
    """A bug it would catch: items that a killed worker stored are missing in the totals for ever."""
    way = LossyWay(mongo_url)
    async with way.opened() as url, opened(url, patience_s=0.0) as killed, opened(mongo_url) as server:
        book = MongoJobStore(server, ManualClock())
        for number in range(30):
            job = await book.create("shop", "")
            way.loses = range(way.commands + number, 10**9)
            with pytest.raises(StorageError, match="cannot be reached"):
                await MongoStore(killed).write(job, batch(number + 1))
            way.loses = range(0)
            await MongoStore(server).write(job, batch(number + 1))
            totals, _, items, attempts = await look(server, job)
            assert [(key, data["n"]) for key, data, _ in items] == [("a", number + 1), ("b", number + 1)]
            assert (totals.pages, totals.items) == (2, 2), f"killed after {number} commands"
            assert len(attempts) in (2, 4)
            if totals.attempts == 4:
                return  # the answer to the last command was what was lost
    pytest.fail("a batch takes more commands than this looks at")


async def test_an_item_that_no_document_holds_is_left_out_alone(mongo_url, caplog, monkeypatch):
    monkeypatch.setattr("gossamer.store.mongodb.documents.LARGEST", 10_000)
    async with opened(mongo_url) as server:
        job, store = await MongoJobStore(server, ManualClock()).create("shop", ""), MongoStore(server)
        wide = make_item("wide", b'{"text":"%s"}' % (b"x" * 10_000))
        await store.write(job, [make_visit_result(wide, make_item("no", b"{"), make_item("good"))])
        assert [item.key async for item in store.read_items(job)] == ["good"]
        totals = await store.read_totals(job)
    assert totals.dropped == {"item:not JSON": 1, "item:too large for MongoDB": 1}
    assert "Product 'wide' was not stored" in caplog.text


async def test_former_versions_are_kept_where_they_are_asked_for(mongo_url):
    """And an item is not changed more often than it may be."""
    async with opened(mongo_url) as server:
        book, numbers = MongoJobStore(server, ManualClock()), []
        for name, options in (
            ("plain", {}),
            ("all", {"history": True}),
            ("slow", {"min_interval_s": 15.0, "seen_resolution_s": 0}),
        ):
            job, store = await book.create(name, ""), MongoStore(server, **options)
            for at in range(3):
                await store.write(job, [make_visit_result(make_item("1", b'{"n":%d}' % at), at=10.0 * at)])
            (item,) = [item async for item in store.read_items(job)]
            query = {"item": item.id}
            numbers.append(
                (item.data["n"], len(await server.run(lambda db, q=query: db["version"].find(q).to_list())))
            )
    assert numbers == [(2, 0), (2, 2), (2, 0)]


async def test_what_is_found_as_it_was_is_not_written(mongo_url):
    """But for the time, once in a while, and for the mark that more than one job has seen it."""
    async with opened(mongo_url) as server:
        book, store = MongoJobStore(server, ManualClock()), MongoStore(server)
        jobs = [await book.create("shop", "") for _ in range(2)]
        revs = []
        for job, at in ((0, 100), (0, 200), (0, 3700), (1, 100), (1, 200), (0, 200), (1, 3801)):
            await store.write(jobs[job], [make_visit_result(make_item("1"), at=float(at))])
            (item,) = await server.run(lambda db: db["item"].find().to_list())
            revs.append((item["rev"], item["last_seen"]))
        counts = [len([item async for item in store.read_items(job)]) for job in jobs]
    assert revs == [(1, 100), (1, 100), (1, 100), (2, 100), (2, 100), (2, 100), (3, 3801)]
    assert counts == [1, 1]


async def test_the_ledger_keeps_the_days_that_it_is_told(mongo_url):
    async with opened(mongo_url) as server:
        job = await MongoJobStore(server, ManualClock()).create("shop", "")
        store = MongoStore(server, ledger_days=1)
        days = [
            Attempt(at=86400.0 * day, url="u", fingerprint=day, verdict=Verdict.SUCCESS) for day in range(4)
        ]
        await store.record_attempts(job, days)
        await store.prune_ledger(86400.0 * 3 + 5)
        assert [row.fingerprint for row in await store.latest_attempts(job)] == [3, 2]


@settings(max_examples=40)
@given(item_records())
def test_any_item_comes_back_as_it_was(record):
    stored = decode(encode(fields_of(record.data)), CODEC)
    assert msgspec.json.encode(read_fields(stored)) == msgspec.json.encode(msgspec.json.decode(record.data))


@pytest.mark.parametrize(
    "data", [b'{"a.b":1}', b'{"$set":{"x":1}}', b'{"":1}', b'{"a\\u0000":1}', b'{"n":123456789012345678901}']
)
def test_what_is_no_field_to_mongodb_is_kept_as_json(data):
    assert fields_of(data) == {"json": data.decode()}
    deep = b'{"a":' * 90 + b"1" + b"}" * 90
    assert set(fields_of(deep)) == {"json"}
    assert fields_of(b'{"a":[{"b":null}]}') == {"data": {"a": [{"b": None}]}}


def test_an_item_that_only_its_document_makes_too_large_is_kept_as_json(monkeypatch):
    monkeypatch.setattr("gossamer.store.mongodb.documents.LARGEST", 10_000)
    assert set(fields_of(b'{"n":[%s]}' % b",".join([b"1"] * 2000))) == {"json"}
    assert set(fields_of(b'{"n":[%s]}' % b",".join([b"1"] * 500))) == {"data"}
    with pytest.raises(TooLargeError):
        fields_of(b'{"n":"%s"}' % (b"1" * 10_000))


@pytest.mark.parametrize(
    "name", ["", "a", "dropped:item:price.amount", "$x", "%2E", "%", "a\0b", "50 % off."]
)
def test_any_counter_has_a_field(name):
    field = field_of(name)
    assert name_of(field) == name
    assert field
    assert not set(field) & {".", "$", "\0"}
