"""What only the SQL store has to prove."""

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.storable import without_surrogates
from gossamer.drivers.sqlite.database import Database
from gossamer.drivers.sqlite.schema import load_migrations, migrate_schema
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.store.job_rows import slug_of
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.store import SqliteStore, clean_texts
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from kit.former_ends import FORMER_ENDS


async def test_a_job_of_another_book_is_entered(tmp_path):
    db = Database(tmp_path / "x.db")
    store, book = SqliteStore(db), SqliteJobStore(db, ManualClock())
    for job_id in ("shop-7", "elsewhere"):
        job = Job(id=job_id, name="shop", target="t", created_at=5.0, key=b"k")
        await store.write(job, [make_visit_result(make_item("1"))])
        assert await book.get(job_id) == job
    assert (await book.create("shop", "t")).id == "shop-8"
    db.close()


async def test_everything_is_there_after_a_restart(tmp_path):
    clock = ManualClock()
    db = Database(tmp_path / "x.db")
    job = await SqliteJobStore(db, clock).create("shop", "t")
    await SqliteStore(db).write(job, [make_visit_result(make_item("1"))])
    await SqliteSharedState(db, clock).put("s", "k", b"v", 60)
    db.close()
    db = Database(tmp_path / "x.db")
    assert await SqliteJobStore(db, clock).get("shop") == job
    assert (await SqliteStore(db).read_totals(job)).items == 1
    assert await SqliteSharedState(db, clock).get("s", "k") == b"v"
    db.close()


async def test_shared_state_does_not_grow_for_ever(tmp_path):
    clock = ManualClock()
    db = Database(tmp_path / "x.db")
    shared = SqliteSharedState(db, clock)
    for n in range(100):
        await shared.put("s", str(n), b"v", 1)
        clock.advance(0.5)
    rows = db.run_sync(lambda conn: conn.execute("SELECT count(*) FROM shared").fetchone()[0])
    assert rows < 10
    db.close()


def pages(db):
    return db.run_sync(lambda conn: conn.execute("SELECT fingerprint, visit, times, at FROM page").fetchall())


async def test_the_latest_of_a_page_is_kept_unless_its_lease_is_settled_with_it(tmp_path):
    db = Database(tmp_path / "x.db")
    store, job = SqliteStore(db), await SqliteJobStore(db, ManualClock()).create("shop", "t")
    for at in (10, 20, 5):
        await store.write(job, [make_visit_result(at=at), make_visit_result(at=at)])
    assert pages(db) == [(1, 0, 4, 20)]
    db.run_sync(
        lambda conn: store.write_within(conn, job, [make_visit_result(at=30), make_visit_result(at=40)], [])
    )
    assert pages(db)[1:] == [(1, None, 1, 30), (1, None, 1, 40)]
    assert (await store.read_totals(job)).pages == 3
    db.close()


async def test_a_file_in_which_pages_are_there_twice_is_brought_forward(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path, {number: sql for number, sql in load_migrations().items() if number <= 2})
    conn.execute(
        "INSERT INTO job VALUES (1, 'shop-1', 'shop', 1, 'shop', '', 1, 'running', NULL, '', x'', x'')"
    )
    conn.execute("INSERT INTO tally VALUES (1, 'pages', 2)")
    conn.executemany("INSERT INTO page VALUES (?, 1, 1, 10, 200, 0, 0, '', '', 'http://a/1')", [(1,), (2,)])
    conn.close()
    db = Database(tmp_path / "x.db")
    store, job = SqliteStore(db), await SqliteJobStore(db, ManualClock()).get("shop-1")
    assert pages(db) == [(1, None, 1, 10)] * 2
    await store.write(job, [make_visit_result(number=2)])
    await store.write(job, [make_visit_result(number=2)])
    assert (await store.read_totals(job)).pages == 3
    db.close()


async def test_of_an_older_file_jobs_keep_the_values_that_are_there(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path, {number: sql for number, sql in load_migrations().items() if number <= 4})
    job = "INSERT INTO job VALUES (?, ?, 'shop', ?, 'shop', '', 1, 'running', NULL, '', x'', x'')"
    for n in (1, 2):
        conn.execute(job, (n, f"shop-{n}", n))
        conn.execute("INSERT INTO sighting VALUES (?, 1)", (n,))
    row = (1, "shop", "Product", "1", 7, 1.0, 1.0, 1.0, "http://a/1", '{"n":1}')
    conn.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    conn.close()
    db = Database(tmp_path / "x.db")
    store, book = SqliteStore(db), SqliteJobStore(db, ManualClock())
    first, second = [await book.get(f"shop-{n}") for n in (1, 2)]
    await store.write(second, [make_visit_result(make_item("1", b'{"n":2}'), at=5)])
    values = [[found.data async for found in store.read_items(job)] for job in (first, second)]
    assert values == [[{"n": 1}], [{"n": 2}]]
    db.close()


async def test_ends_of_jobs_in_an_older_file_become_a_reason_and_an_error(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path, {number: sql for number, sql in load_migrations().items() if number <= 6})
    job = "INSERT INTO job VALUES (?, ?, 'shop', ?, 'shop', '', 1, 'running', ?, ?, x'', x'')"
    for n, reason in enumerate(FORMER_ENDS, 1):
        conn.execute(job, (n, f"shop-{n}", n, 9.0 if reason else None, reason))
    conn.close()
    db = Database(tmp_path / "x.db")
    book = SqliteJobStore(db, ManualClock())
    found = [await book.get(f"shop-{n}") for n in range(1, len(FORMER_ENDS) + 1)]
    assert [(job.end_reason, job.end_error) for job in found] == list(FORMER_ENDS.values())
    stored = db.run_sync(lambda conn: conn.execute("SELECT finish_reason FROM job").fetchall())
    assert stored[-1] == ("error",)
    db.run_sync(lambda conn: conn.execute("UPDATE job SET finish_reason = 'error: late' WHERE id = 1"))
    assert (await book.get("shop-1")).end_text == "error: late", "by a process that was not renewed"
    db.close()


async def test_a_ledger_from_before_it_knew_ways_of_fetching_is_read_on(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path, {number: sql for number, sql in load_migrations().items() if number <= 7})
    conn.execute(
        "INSERT INTO job VALUES (1, 'shop-1', 'shop', 1, 'shop', '', 1, 'running', NULL, '', x'', x'', '')"
    )
    conn.execute(
        "INSERT INTO attempt (job, fingerprint, at, attempt, status, depth, size_bytes, elapsed_ms, verdict,"
        " reason, rung, worker, url, via, detail) VALUES (1, 5, 1.5, 1, 200, 0, 9, 2.0, 'success', '',"
        " 'http', 'w', 'http://a/1', '', '')"
    )
    conn.close()
    db = Database(tmp_path / "x.db")
    store, job = SqliteStore(db), await SqliteJobStore(db, ManualClock()).get("shop-1")
    [old] = await store.latest_attempts(job)
    assert (old.url, old.size_bytes, old.rung) == ("http://a/1", 9, "http")
    assert (old.proxy, old.session, old.cost, old.wire_bytes, old.address) == ("", "", 0.0, 0, "")
    new = replace(old, fingerprint=6, session="s", wire_bytes=3, address="192.0.2.1", proxy="p", cost=0.5)
    await store.record_attempts(job, [new])
    assert await store.latest_attempts(job) == [new, old]
    assert await SqliteLedgerReader(db).find_attempts(job, 10) == [new, old]
    db.close()


async def test_values_that_nobody_else_saw_are_not_kept(tmp_path):
    db = Database(tmp_path / "x.db")
    store, job = SqliteStore(db), await SqliteJobStore(db, ManualClock()).create("shop", "t")
    for n in range(5):
        await store.write(job, [make_visit_result(make_item("1", b'{"n":%d}' % n), at=n)])
    assert db.run_sync(lambda conn: conn.execute("SELECT count(*) FROM item_history").fetchone()) == (0,)
    db.close()


def test_slugs():
    names = ["shop", "www.a.example", "ünï cödé", "../..", "", "a/b\\c", "x" * 500, ".hidden", "-rf"]
    for name in names:
        made = slug_of(name)
        assert made
        assert len(made) <= 64
        assert made[0] not in ".-"
        assert not set(made) & set("/\\ \0\n")


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=8))
def test_the_texts_of_a_row_are_stored_like_each_of_them(values):
    assert list(clean_texts(values)) == [without_surrogates(value) for value in values]


async def test_the_ledger_keeps_whole_days_and_deletes_those_before(tmp_path, monkeypatch):
    """In parts, and none of what is kept, though it was written before what is not."""
    monkeypatch.setattr("gossamer.store.sqlite.store.PRUNED", 3)
    day = 86_400.0
    with closing(Database(tmp_path / "x.db")) as db:
        store, job = (
            SqliteStore(db, ledger_days=2),
            await SqliteJobStore(db, ManualClock()).create("shop", "t"),
        )
        times = [day * 7.5 + number for number in range(8)] + [day * 8 + 1, day * 9, day * 10]
        tried = make_visit_result().attempts[0]
        await store.record_attempts(job, [replace(tried, at=at) for at in times])
        assert await store.prune_ledger(day * 10.5) == 8
        assert [row.at for row in await store.latest_attempts(job)] == [day * 10, day * 9, day * 8 + 1]
        assert await store.prune_ledger(day * 10.9) == 0
        assert await SqliteStore(db).prune_ledger(day * 99) == 0  # a store that keeps everything
        assert (await store.read_totals(job)).attempts == 11
