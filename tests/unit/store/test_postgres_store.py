"""What only the store in PostgreSQL has to prove."""

import asyncio
import contextlib
import hashlib
import time

import asyncpg
import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.core.results import Attempt, Verdict
from gossamer.drivers.postgres.schema import prepare_schema
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.ledger import PostgresLedgerReader
from gossamer.store.postgres.rows import batch_of, batch_of_attempts
from gossamer.store.postgres.schema import load_migrations, make_server
from gossamer.store.postgres.store import COPIED, SQL, PostgresStore, day_name, write_batch
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from kit.former_ends import FORMER_ENDS

JOB = Job(id="shop-1", name="shop", target="t", created_at=5.0, key=b"k", plan=b"p")
DAY = 86400.0


@pytest.fixture
async def server(postgres_url):
    found = make_server(postgres_url)
    yield found
    await found.close()


async def test_who_may_only_read_can_read_the_name_of_the_store(server, postgres_url):
    clock = ManualClock()
    name = await PostgresJobStore(server, clock).read_identity()
    reader = make_server(
        f"{postgres_url}{'&' if '?' in postgres_url else '?'}default_transaction_read_only=on"
    )
    try:
        assert await PostgresJobStore(reader, clock).read_identity() == name
    finally:
        await reader.close()


@pytest.fixture
def store(server):
    return PostgresStore(server)


async def items(store, job=None):
    return [found async for found in store.read_items(job)]


async def rows(server, query, *values):
    return [tuple(row) for row in await server.run(lambda conn: conn.fetch(query, *values))]


def again(found, *, token=1, expiries=0, dont_filter=True):
    """A result of the same page, by another lease."""
    lease = found.outcome.lease
    request = Request(lease.entry.request.url, dont_filter=dont_filter)
    lease = replace(lease, token=token, expiries=expiries, entry=replace(lease.entry, request=request))
    return replace(found, outcome=replace(found.outcome, lease=lease))


async def test_a_job_of_another_book_is_entered(server, store):
    book = PostgresJobStore(server, ManualClock())
    for job_id in ("shop-7", "elsewhere"):
        job = replace(JOB, id=job_id)
        await store.write(job, [make_visit_result(make_item("1"))])
        assert await book.get(job_id) == job
    assert (await book.create("shop", "t")).id == "shop-8"


async def test_of_what_several_writers_were_told_the_largest_number_counts(server, store):
    """Each of them has counters of its own, which are put together when they are read."""
    job = await PostgresJobStore(server, ManualClock()).create("shop", "")
    for number in range(1, 9):
        one = replace(make_visit_result(number=number), expected={"products//": 4210 + number})
        await PostgresStore(server).write(job, [one])
    slots = await rows(server, "SELECT count(DISTINCT slot) FROM tally WHERE name LIKE 'expected:%'")
    assert slots[0][0] > 1
    totals = await store.read_totals(job)
    assert (totals.expected, totals.pages) == ({"products//": 4218}, 8)


async def test_a_job_whose_creation_was_answered_into_the_void_is_made_once(server):
    book = PostgresJobStore(server, ManualClock())
    run, lost = server.run, []

    async def twice(work):
        lost.append(await run(work))
        return await run(work)

    server.run = twice
    job = await book.create("shop", "t", b"plan")
    server.run = run
    assert lost == [job]
    assert await book.list_jobs() == [job]


# --------------------------------------------------------------------------- items


async def test_an_item_that_has_just_changed_is_left_alone(server):
    store = PostgresStore(server, min_interval_s=60, seen_resolution_s=0)
    one, two = make_item("1", b'{"by":1}'), make_item("1", b'{"by":2}')
    seen = []
    for at, found in enumerate([one, two, one, two]):
        await store.write(JOB, [make_visit_result(found, at=100 + 20 * at)])
        (stored,) = await items(store)
        seen.append((stored.data["by"], stored.last_seen, stored.changed_at))
    assert seen == [(1, 100, 100), (1, 120, 100), (1, 140, 100), (2, 160, 160)]


async def test_former_versions_are_kept_when_asked_for(server, store):
    with_history = PostgresStore(server, history=True, seen_resolution_s=0)
    for at, n in enumerate([1, 1, 2, 3]):
        await with_history.write(
            JOB, [make_visit_result(make_item("1", b'{"n":%d}' % n), make_item("same"), at=at)]
        )
    await store.write(JOB, [make_visit_result(make_item("1", b'{"n":4}'), at=9)])
    kept = await rows(
        server, "SELECT data ->> 'n', changed_at, last_seen FROM item_history ORDER BY changed_at"
    )
    assert kept == [("1", 0, 1), ("2", 2, 2)]


async def test_without_it_only_what_another_job_saw_is_kept_and_once(server, store):
    other = replace(JOB, id="shop-2", key=b"other")
    for at, n in enumerate([1, 2, 3]):
        await store.write(JOB, [make_visit_result(make_item("1", b'{"n":%d}' % n), at=at)])
    for at, (job, n) in enumerate([(other, 4), (JOB, 3), (other, 4), (JOB, 3)], start=3):
        await store.write(job, [make_visit_result(make_item("1", b'{"n":%d}' % n), at=at)])
    kept = await rows(server, "SELECT data ->> 'n' FROM item_history ORDER BY changed_at")
    assert kept == [("3",), ("4",)]


async def test_of_an_older_schema_jobs_keep_the_values_that_are_there(postgres_url, server, store):
    conn = await asyncpg.connect(postgres_url, server_settings={"search_path": "gossamer"})
    old = {number: sql for number, sql in load_migrations().items() if number <= 2}
    await prepare_schema(conn, "gossamer", "db", old)
    await conn.execute(
        "INSERT INTO job (name, slug, number, spider, target, created_at, state, key)"
        " VALUES ('shop-1', 'shop', 1, 'shop', 't', 5, 'running', 'k')"
    )
    await conn.execute("INSERT INTO sighting VALUES (1, 1)")
    await conn.execute(
        "INSERT INTO item (hash, first_seen, last_seen, changed_at, keeps_history, is_altered, spider, type,"
        " key, url, data) VALUES (7, 1, 1, 1, false, false, 'shop', 'Product', '1', 'u', '{\"n\": 1}')"
    )
    await conn.close()
    other = replace(JOB, id="shop-2", key=b"other")
    await store.write(other, [make_visit_result(make_item("1", b'{"n":2}'), at=5)])
    assert [[found.data["n"] for found in await items(store, job)] for job in (JOB, other)] == [[1], [2]]


async def test_ends_of_jobs_in_an_older_schema_become_a_reason_and_an_error(postgres_url, server):
    conn = await asyncpg.connect(postgres_url, server_settings={"search_path": "gossamer"})
    old = {number: sql for number, sql in load_migrations().items() if number <= 3}
    await prepare_schema(conn, "gossamer", "db", old)
    for n, reason in enumerate(FORMER_ENDS, 1):
        await conn.execute(
            "INSERT INTO job (name, slug, number, spider, target, created_at, state, key, finish_reason)"
            " VALUES ($1, 'shop', $2, 'shop', 't', 5, 'running', 'k', $3)",
            *(f"shop-{n}", n, reason),
        )
    await conn.close()
    book = PostgresJobStore(server, ManualClock())
    found = [await book.get(f"shop-{n}") for n in range(1, len(FORMER_ENDS) + 1)]
    assert [(job.end_reason, job.end_error) for job in found] == list(FORMER_ENDS.values())
    assert (await rows(server, "SELECT finish_reason FROM job ORDER BY id"))[-1] == ("error",)


async def test_a_ledger_from_before_it_knew_ways_of_fetching_is_read_on(postgres_url, server, store):
    conn = await asyncpg.connect(postgres_url, server_settings={"search_path": "gossamer"})
    old = {number: sql for number, sql in load_migrations().items() if number <= 4}
    await prepare_schema(conn, "gossamer", "db", old)
    await conn.execute(
        "INSERT INTO job (name, slug, number, spider, target, created_at, state, key)"
        " VALUES ('shop-1', 'shop', 1, 'shop', 't', 5, 'running', 'k')"
    )
    await conn.execute(
        "CREATE TABLE attempt_19700101 PARTITION OF attempt FOR VALUES FROM (0) TO (86400);"
        "INSERT INTO attempt (job, fingerprint, at, attempt, status, depth, size_bytes, elapsed_ms, verdict,"
        " reason, rung, worker, url, via, detail) VALUES (1, 5, 1.5, 1, 200, 0, 9, 2.0, 'success', '',"
        " 'http', 'w', 'http://a/1', '', '')"
    )
    await conn.close()
    [former] = await store.latest_attempts(JOB)
    assert (former.url, former.size_bytes, former.rung) == ("http://a/1", 9, "http")
    how = (former.proxy, former.session, former.cost, former.wire_bytes, former.address)
    assert how == ("", "", 0.0, 0, "")
    new = replace(former, fingerprint=6, session="s", wire_bytes=3, address="192.0.2.1", proxy="p", cost=0.5)
    await store.record_attempts(JOB, [new])
    assert await store.latest_attempts(JOB) == [new, former]
    assert await PostgresLedgerReader(server).find_attempts(JOB, 10) == [new, former]


async def test_what_postgresql_refuses_loses_nobody_elses_items(server, store, caplog):
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    long = "".join(hashlib.sha256(b"%d" % n).hexdigest() for n in range(100))  # an index takes 2704 bytes
    number = b'{"a":1' + b"0" * 140_000 + b"}"  # more digits than a numeric holds
    found = [
        make_item("1"),
        make_item(long),
        make_item("2"),
        make_item("number", number),
        make_item("3"),
        make_item("deep", deep),
    ]
    broken = make_item("broken", b"{no json")
    await store.write(JOB, [make_visit_result(*found, broken), make_visit_result(make_item("4"), number=2)])
    stored = {one.key for one in await items(store, JOB)}
    assert stored >= {"1", "2", "3", "4"}
    assert stored.isdisjoint({long, "broken", "number"})
    tally = await store.read_totals(JOB)
    assert (tally.pages, tally.items, tally.duplicates) == (2, len(stored), 0)
    assert sum(tally.dropped.values()) == 8 - len(stored)
    said = [record.getMessage() for record in caplog.records]
    assert said
    assert all("was not stored" in line for line in said)


async def test_altered_text_is_flagged(server, store):
    found = [
        rb'{"a\u0000":"\u0000"}',
        rb'{"a":"\ud800"}',
        rb'{"a":"\ud83d\ude00"}',
        '{"a":"ä"}'.encode(),
        b'{"a":"\xff"}',
    ]
    await store.write(JOB, [make_visit_result(*[make_item(str(n), data) for n, data in enumerate(found)])])
    flags = await rows(server, "SELECT is_altered FROM item ORDER BY id")
    assert [flag for (flag,) in flags] == [True, True, False, False, False]
    assert [list(one.data.items()) for one in await items(store)] == [
        [("a\ufffd", "\ufffd")], [("a", "\ufffd")], [("a", "😀")], [("a", "ä")], [("a", "\ufffd")],
    ]  # fmt: skip


# --------------------------------------------------------------------------- exactly once


async def test_a_batch_that_is_sent_twice_is_stored_once(server, store):
    await store.write(JOB, [])
    batch = batch_of([make_visit_result(make_item("1"), make_item("2"), dropped={"link:scheme": 1})])
    values = (4711, 1, store._numbers[JOB.id], 0, "shop", 0.0, False, *batch.to_values(0.0, False))
    await store._add_days(batch.attempt_days())
    await asyncio.gather(*[server.run(lambda conn: conn.execute(SQL["write"], *values)) for _ in range(4)])
    await server.run(lambda conn: conn.execute(SQL["write"], *values))
    tally = await store.read_totals(JOB)
    assert (tally.pages, tally.items, tally.duplicates, tally.attempts) == (1, 2, 0, 1)
    assert tally.dropped == {"link:scheme": 1}
    assert await rows(server, "SELECT count(*) FROM attempt") == [(1,)]
    assert await rows(server, "SELECT times FROM page") == [(1,)]


async def test_rows_that_are_copied_are_stored_once_and_counted_once(server, store):
    """As many tries at once as there may be after a lost connection; then one more, and a batch behind it."""
    await store.write(JOB, [])
    attempt = make_visit_result().attempts[0]
    many = [replace(attempt, fingerprint=n, url=f"http://a/{n}\0") for n in range(COPIED)]
    batch = batch_of_attempts(many)
    number = store._numbers[JOB.id]
    copied = batch.attempt_rows(number)
    columns = batch.to_values(0.0, False, with_attempts=False)
    values = (4711, 2, number, 0, "shop", 0.0, False, *columns)
    await store._add_days(batch.attempt_days())

    async def write(conn):
        await write_batch(conn, SQL["write"], values, copied)

    await asyncio.gather(*[server.run(write) for _ in range(4)])
    await server.run(write)
    for _ in range(2):
        await store.record_attempts(JOB, many)
    assert (await store.read_totals(JOB)).attempts == 3 * COPIED
    assert await rows(server, "SELECT count(*), count(DISTINCT url) FROM attempt") == [(3 * COPIED, COPIED)]


class Link:
    """A proxy that can lose the server's answers: what was asked arrives, and nothing comes back."""

    def __init__(self, port, *, hangs=False):
        self.port = port
        self.hangs = hangs  # the connection stays open then
        self.loses = False
        self.lost = 0

    @contextlib.asynccontextmanager
    async def open(self):
        listener = await asyncio.start_server(self._serve_request, "127.0.0.1", 0)
        self.listens_on = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()

    async def _serve_request(self, reader, writer):
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.port)

        async def answers():
            is_silent = False
            while data := await up_reader.read(65536):
                if self.loses and b"INSERT 0" in data:
                    self.loses = False
                    self.lost += 1
                    if not self.hangs:
                        break
                    is_silent = True
                if not is_silent:
                    writer.write(data)
            writer.close()

        back = asyncio.create_task(answers())
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                up_writer.write(data)
        up_writer.close()
        await back


@pytest.mark.parametrize("hangs", [False, True])
async def test_an_answer_that_is_lost_doubles_nothing(postgres_server, postgres_url, hangs):
    async with Link(postgres_server.port, hangs=hangs).open() as link:
        url = postgres_url.replace(f":{link.port}/", f":{link.listens_on}/")
        server = make_server(url, timeout_s=1.0 if hangs else 30.0)
        store = PostgresStore(server)
        for number in range(3):
            await store.write(JOB, [make_visit_result(make_item(str(number)), number=number)])
            link.loses = True
        await store.record_attempts(JOB, [])
        tally = await store.read_totals(JOB)
        assert link.lost == 3
        assert (tally.pages, tally.items, tally.attempts, tally.duplicates) == (3, 3, 3, 0)
        await server.close()


@pytest.mark.long
async def test_restarts_in_the_middle_of_writes_lose_and_double_nothing(postgres_server, postgres_url):
    servers = [make_server(postgres_url) for _ in range(2)]
    stores = [PostgresStore(server) for server in servers]
    numbers = iter(range(400))
    stored = []

    async def write(store):
        for number in numbers:
            found = [
                make_visit_result(make_item(f"{number}-{n}"), make_item("shared"), number=8 * number + n)
                for n in range(8)
            ]
            await store.write(JOB, found)
            stored.append(number)

    async def restart():
        for how in ("immediate", "kill", "immediate"):
            wanted = len(stored) + 60
            while len(stored) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            await asyncio.to_thread(postgres_server.restart, how)

    async with asyncio.timeout(120):
        await asyncio.gather(restart(), *[write(stores[n % 2]) for n in range(6)])
    tally = await stores[0].read_totals(JOB)
    assert sorted(stored) == list(range(400))
    assert (tally.pages, tally.items, tally.attempts, tally.duplicates) == (3200, 3201, 3200, 3199)
    assert await rows(servers[0], "SELECT count(*), count(DISTINCT fingerprint) FROM attempt") == [
        (3200, 3200)
    ]
    assert len(await items(stores[0], JOB)) == 3201
    for server in servers:
        await server.close()


async def test_a_store_that_stays_away_is_an_error_and_what_was_stored_is_there(
    postgres_server, postgres_url
):
    server = make_server(postgres_url, patience_s=0.2)
    store = PostgresStore(server)
    await store.write(JOB, [make_visit_result(make_item("1"))])
    postgres_server.kill()
    with pytest.raises(StorageError, match=r"cannot be reached|connection was lost"):
        await store.write(JOB, [make_visit_result(make_item("2"), number=2)])
    await asyncio.to_thread(postgres_server.start)
    await store.write(JOB, [make_visit_result(make_item("2"), number=2)])
    assert (await store.read_totals(JOB)).pages == 2
    await server.close()


# --------------------------------------------------------------------------- pages


async def test_a_page_that_is_stored_again_is_the_same_page(server, store):
    first = make_visit_result(make_item("1"), at=10)
    for found in (
        first,
        first,
        make_visit_result(make_item("1"), at=20),
        make_visit_result(make_item("1"), at=5),
    ):
        await store.write(JOB, [again(found, dont_filter=False), again(found, token=9, dont_filter=False)])
    tally = await store.read_totals(JOB)
    assert (tally.pages, tally.items, tally.attempts) == (1, 1, 8)
    assert await rows(server, "SELECT at FROM page") == [(20,)]


async def test_a_page_that_is_asked_for_again_on_purpose_is_another_one(server, store):
    page = make_visit_result(at=10)
    await store.write(JOB, [again(page, token=1), again(page, token=2)])
    await store.write(JOB, [again(page, token=3)])
    assert (await store.read_totals(JOB)).pages == 3
    await store.write(JOB, [again(page, token=3)])
    await store.write(JOB, [again(page, token=7, expiries=1), again(page, token=8, expiries=1)])
    assert (await store.read_totals(JOB)).pages == 3, "what is done again after its worker was lost is not"
    await store.write(JOB, [again(make_visit_result(number=2), token=9, expiries=1)])
    assert (await store.read_totals(JOB)).pages == 4


# --------------------------------------------------------------------------- the ledger's days


def tried(day, number=1):
    return Attempt(at=day * DAY + 5, url=f"http://a/{number}", fingerprint=number, verdict=Verdict.SUCCESS)


async def days(server):
    return [name for (name,) in await rows(server, SQL["days"])]


async def test_days_have_partitions_that_are_dropped_in_time(server):
    store = PostgresStore(server, ledger_days=2)
    await store.record_attempts(JOB, [tried(day, day) for day in (20_000, 20_001, 20_003)])
    assert await days(server) == ["attempt_20241004", "attempt_20241005", "attempt_20241007"]
    assert await store.prune_ledger(20_003 * DAY + 100) == 1
    assert await days(server) == [day_name(20_000 + n) for n in (1, 3, 4)], "tomorrow's is made ahead"
    assert [found.fingerprint for found in await store.latest_attempts(JOB)] == [20_003, 20_001]
    assert (await store.read_totals(JOB)).attempts == 3, "totals stay"
    assert await store.prune_ledger(20_003 * DAY + 200) == 0
    await store.record_attempts(JOB, [tried(20_000)])
    assert len(await store.latest_attempts(JOB)) == 3


async def test_everything_is_kept_unless_asked(server, store):
    await store.record_attempts(JOB, [tried(1), tried(20_000)])
    assert await store.prune_ledger(30_000 * DAY) == 0
    assert len(await store.latest_attempts(JOB)) == 2


async def test_many_who_need_the_same_days(postgres_url):
    servers = [make_server(postgres_url) for _ in range(4)]
    stores = [PostgresStore(server) for server in servers]
    await asyncio.gather(
        *[
            store.record_attempts(JOB, [tried(day, n) for day in range(20_000, 20_005)])
            for n, store in enumerate(stores)
        ]
    )
    assert len(await days(servers[0])) == 5
    assert len(await stores[0].latest_attempts(JOB)) == 20
    for server in servers:
        await server.close()


async def test_who_reads_for_long_does_not_stop_the_others(server):
    store = PostgresStore(server, ledger_days=1)
    await store.record_attempts(JOB, [tried(20_000), tried(20_009)])
    begun, done = asyncio.Event(), asyncio.Event()

    async def read(conn):
        async with conn.transaction():
            await conn.fetch("SELECT * FROM attempt")
            begun.set()
            await done.wait()

    reader = asyncio.create_task(server.run(read))
    await begun.wait()
    tidying = asyncio.create_task(store.prune_ledger(20_009 * DAY))
    started = time.monotonic()
    await store.record_attempts(JOB, [tried(20_009, 2)])
    assert time.monotonic() - started < 15
    done.set()
    assert await tidying == 1
    await reader


async def test_old_receipts_are_forgotten(server, store):
    await store.write(JOB, [make_visit_result()])
    await server.run(lambda conn: conn.execute("UPDATE receipt SET at = now() - interval '2 days'"))
    await store.prune_ledger(time.time())
    assert await rows(server, "SELECT count(*) FROM receipt") == [(0,)]
    await store.write(JOB, [make_visit_result(number=2)])
    assert (await store.read_totals(JOB)).pages == 2


async def test_totals_are_spread_over_few_rows(postgres_url):
    servers = [make_server(postgres_url, connections=1) for _ in range(3)]
    for server in servers:
        store = PostgresStore(server)
        for number in range(4):
            await store.write(JOB, [make_visit_result(number=number)])
    (count,) = (await rows(servers[0], "SELECT count(*) FROM tally WHERE name = 'attempts'"))[0]
    assert 1 <= count <= 3
    assert (await PostgresStore(servers[0]).read_totals(JOB)).attempts == 12
    for server in servers:
        await server.close()


async def test_batches_that_meet_do_not_deadlock(server, store, monkeypatch):
    tried_again = []
    monkeypatch.setattr("gossamer.drivers.postgres.server.is_conflict", tried_again.append)
    await store.write(JOB, [make_visit_result()])

    async def write(number):
        keys = [str(key) for key in range(200)]
        turned = keys[:: 1 if number % 2 else -1]
        await store.write(JOB, [make_visit_result(*map(make_item, turned), at=number, number=number)])

    await asyncio.gather(*map(write, range(60)))
    assert (await store.read_totals(JOB)).items == 200
    assert not tried_again


async def test_what_is_found_as_it_was_writes_no_row(server, store):
    """Its job's mark is moved once, its time once an hour; each job has seen it."""
    results = [make_visit_result(*(make_item(str(number)) for number in range(50)), at=100.0)]
    jobs = [replace(JOB, id=f"shop-{number}") for number in (1, 2, 3)]

    async def rows() -> list[tuple[int, ...]]:
        return await server.run(lambda conn: conn.fetch("SELECT ctid, last_seen FROM item ORDER BY id"))

    await store.write(jobs[0], results)
    first = await rows()
    for at in (100.0, 200.0, 3700.0):
        await store.write(jobs[0], [replace(results[0], page=replace(results[0].page, at=at))])
    assert await rows() == first
    await store.write(jobs[1], results)  # seen by two jobs: marked
    marked = await rows()
    assert marked != first
    await store.write(jobs[2], results)
    assert await rows() == marked
    for job in jobs:
        assert len([item async for item in store.read_items(job)]) == 50
    await store.write(jobs[2], [replace(results[0], page=replace(results[0].page, at=3701.0))])
    assert {row[1] for row in await rows()} == {3701.0}
