"""The one SQLite file: nothing acknowledged before its commit, nothing half done, clear errors."""

import asyncio
import sqlite3
import threading

import pytest

from gossamer.core.errors import SchemaVersionError, StorageError
from gossamer.drivers.sqlite import checkpointer, schema
from gossamer.drivers.sqlite.database import Database
from gossamer.drivers.sqlite.schema import (
    APPLICATION_ID,
    load_migrations,
    load_whole,
    migrate_schema,
    split_statements,
)


@pytest.fixture
def db(tmp_path):
    database = Database(tmp_path / "data" / "x.db", busy_timeout_s=0.05)
    database.run_sync(lambda conn: conn.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)").rowcount)
    yield database
    database.close()


def put(value):
    return lambda conn: conn.execute("INSERT INTO t VALUES (?)", (value,)).rowcount


def values(conn):
    return [row[0] for row in conn.execute("SELECT a FROM t ORDER BY a")]


async def test_what_is_acknowledged_is_seen_by_another_process(db):
    await db.run(put(1))
    other = sqlite3.connect(db.path)
    assert values(other) == [1]
    other.close()


async def test_calls_that_wait_commit_together(db):
    gate = threading.Event()
    first = asyncio.ensure_future(db.run(lambda conn: gate.wait(10)))
    commits = []
    db._writer._conn.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    rest = [asyncio.ensure_future(db.run(put(n))) for n in range(50)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, *rest)
    assert 1 <= len(commits) <= 2  # the first call may have been alone
    assert len(await db.read(values)) == 50


async def test_one_that_fails_does_not_harm_its_group(db):
    gate = threading.Event()
    first = asyncio.ensure_future(db.run(lambda conn: gate.wait(10)))

    def half(conn):
        put(100)(conn)
        raise KeyError("mine")

    calls = [asyncio.ensure_future(db.run(fn)) for fn in (put(1), half, put(2), put(1))]
    await asyncio.sleep(0)
    gate.set()
    await first
    one, failed, two, twice = await asyncio.gather(*calls, return_exceptions=True)
    assert (one, two) == (1, 1)
    assert isinstance(failed, KeyError)
    assert isinstance(twice, StorageError)
    assert await db.read(values) == [1, 2]


async def test_readers_do_not_wait_for_the_writer_and_see_only_commits(db):
    gate = threading.Event()

    def slow(conn):
        put(7)(conn)
        gate.wait(10)

    writing = asyncio.ensure_future(db.run(slow))
    await asyncio.sleep(0)
    assert await db.read(values) == []
    gate.set()
    await writing
    assert await db.read(values) == [7]


async def test_the_reader_cannot_write(db):
    with pytest.raises(StorageError, match="read-only"):
        await db.read(put(1))


async def test_a_cancelled_caller_harms_nobody(db):
    task = asyncio.ensure_future(db.run(put(1)))
    await asyncio.sleep(0)
    task.cancel()
    await db.run(put(2))
    assert task.cancelled()
    assert (await db.read(values))[-1] == 2
    assert db.outstanding_calls == 0


async def test_outstanding_work_is_told(db):
    assert db.outstanding_calls == 0
    gate = threading.Event()
    task = asyncio.ensure_future(db.run(lambda conn: gate.wait(10)))
    await asyncio.sleep(0)
    assert db.outstanding_calls == 1
    gate.set()
    await task
    assert db.outstanding_calls == 0


def test_closing_finishes_what_was_handed_over(tmp_path):
    db = Database(tmp_path / "x.db")
    db.run_sync(lambda conn: conn.execute("CREATE TABLE t (a)").rowcount)

    async def hand_over_and_go():
        tasks = [asyncio.ensure_future(db.run(put(n))) for n in range(200)]
        await asyncio.sleep(0)
        db.close()
        db.close()
        with pytest.raises(StorageError, match="closed"):
            await db.run(put(0))
        await asyncio.gather(*tasks)

    asyncio.run(hand_over_and_go())
    again = Database(tmp_path / "x.db")
    assert again.run_sync(values) == list(range(200))
    again.close()


@pytest.mark.slow
def test_closing_leaves_the_one_file_and_no_log(tmp_path):
    for number in range(50):
        database = Database(tmp_path / f"{number}.db")
        database.close()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".db"] * 50


def test_a_loop_that_is_gone_leaves_nothing_outstanding(db):
    gate = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(db.run(lambda conn: gate.wait(10)))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    gate.set()
    db.run_sync(lambda conn: None)
    assert db.outstanding_calls == 0


# --------------------------------------------------------------------------- errors


async def test_a_full_disk_stops_clearly_and_goes_on_when_freed(db):
    db.run_sync(lambda conn: conn.execute("CREATE TABLE big (x)").rowcount)
    limit = db._writer._conn.execute("PRAGMA page_count").fetchone()[0] + 4
    db._writer._conn.execute(f"PRAGMA max_page_count = {limit}")

    def fill(conn):
        put(1)(conn)
        conn.execute("INSERT INTO big VALUES (zeroblob(100000))")

    with pytest.raises(StorageError, match=r"x\.db: the disk is full; free some space"):
        await db.run(fill)
    assert await db.read(values) == []
    db._writer._conn.execute("PRAGMA max_page_count = 100000")
    await db.run(fill)
    assert await db.read(values) == [1]


async def test_a_locked_file_is_told_and_works_again_later(db):
    other = sqlite3.connect(db.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="this process keeps the file locked itself"):
        await db.run(put(1))
    other.execute("ROLLBACK")
    other.close()
    await db.run(put(1))


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(StorageError, match="not an SQLite database"):
        Database(path)


def test_a_damaged_file(tmp_path):
    path = tmp_path / "x.db"
    db = Database(path)
    db.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(StorageError, match=r"damaged; keep a copy, then: sqlite3 FILE \.recover"):
        Database(path)


def test_another_programs_file(tmp_path):
    path = tmp_path / "x.db"
    conn = sqlite3.connect(path)
    conn.execute("CREATE TABLE theirs (a)")
    conn.commit()
    conn.close()
    with pytest.raises(StorageError, match="belongs to another program"):
        Database(path)
    conn = sqlite3.connect(path)
    assert conn.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    conn.close()


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be created as a data directory"):
        Database(tmp_path / "file" / "x.db")


def test_a_path_that_is_a_directory(tmp_path):
    with pytest.raises(StorageError, match="cannot be opened"):
        Database(tmp_path)


def test_a_read_only_file(db):
    db.run_sync(lambda conn: conn.execute("PRAGMA query_only = 1").fetchall())  # as root, modes do not bind
    with pytest.raises(StorageError, match="read-only"):
        db.run_sync(lambda conn: conn.execute("CREATE TABLE t (a)").rowcount)


# --------------------------------------------------------------------------- schema


def test_a_newer_file_is_refused(tmp_path):
    path = tmp_path / "x.db"
    db = Database(path)
    db.run_sync(lambda conn: conn.execute("PRAGMA user_version = 99").rowcount)
    db.close()
    with pytest.raises(
        SchemaVersionError, match=r"x\.db: written by a newer Gossamer \(schema 99; this one knows \d+\)"
    ):
        Database(path)


def test_a_file_with_other_tables_says_the_way_out(db):
    with pytest.raises(StorageError, match=r"x\.db: written by a development version .* another --data"):
        db.run_sync(lambda conn: conn.execute("SELECT 1 FROM nowhere").fetchone())


def test_an_older_file_is_brought_forward_step_by_step(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    steps = {1: "CREATE TABLE a (x);", 2: "ALTER TABLE a ADD COLUMN y; -- why\nINSERT INTO a VALUES (1, 2);"}
    migrate_schema(conn, tmp_path, {1: steps[1]})
    migrate_schema(conn, tmp_path, steps)
    migrate_schema(conn, tmp_path, steps)
    assert conn.execute("SELECT x, y FROM a").fetchall() == [(1, 2)]
    assert conn.execute("PRAGMA user_version").fetchone() == (2,)
    assert conn.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    conn.close()


def test_a_migration_that_fails_leaves_the_old_version(tmp_path):
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path, {1: "CREATE TABLE a (x);"})
    with pytest.raises(sqlite3.OperationalError):
        migrate_schema(
            conn, tmp_path, {1: "", 2: "CREATE TABLE b (x); CREATE TABLE a (x);\nSELECT nothing();"}
        )
    assert conn.execute("SELECT name FROM sqlite_master").fetchall() == [("a",)]
    assert conn.execute("PRAGMA user_version").fetchone() == (1,)
    conn.close()


def test_a_new_file_is_what_all_migrations_lead_to(tmp_path):
    """And the script in ``scripts/`` writes nothing else."""
    found = []
    for steps in (None, load_migrations()):
        conn = sqlite3.connect(tmp_path / f"{steps is None}.db", isolation_level=None)
        migrate_schema(conn, tmp_path, steps)
        version = conn.execute("SELECT * FROM pragma_user_version, pragma_application_id").fetchall()
        found.append([*conn.iterdump(), version])
        conn.close()
    assert found[0] == found[1]
    assert list(load_whole()) == [max(load_migrations())], "python scripts/sqlite_schema.py writes it anew"


def test_a_new_file_gets_the_migrations_that_came_after_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "load_whole", lambda: {1: "CREATE TABLE a (x); INSERT INTO a VALUES (1);"})
    steps = {1: "CREATE TABLE nowhere (x);", 2: "ALTER TABLE a ADD COLUMN y DEFAULT 2;"}
    monkeypatch.setattr(schema, "load_migrations", lambda: steps)
    conn = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate_schema(conn, tmp_path)
    assert conn.execute("SELECT x, y FROM a").fetchall() == [(1, 2)]
    conn.close()


def test_our_migrations_are_numbered_without_gaps():
    numbers = sorted(load_migrations())
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(split_statements(sql) for sql in load_migrations().values())


def test_the_log_is_copied_back_beside_the_writer(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpointer, "EVERY", 100)
    done = threading.Event()
    database = Database(tmp_path / "x.db")
    database._checkpointer._conn.set_trace_callback(lambda sql: done.set())
    database.run_sync(lambda conn: conn.execute("CREATE TABLE t (x)"))
    size = (tmp_path / "x.db").stat().st_size
    for _ in range(2):
        database.run_sync(lambda conn: conn.executemany("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 60))
    assert done.wait(10)
    database._checkpointer.close()  # waits for what it is at
    assert (tmp_path / "x.db").stat().st_size > size
    database.close()


def test_memory_holds_until_somebody_else_writes_or_a_call_fails(tmp_path):
    one, two = Database(tmp_path / "x.db"), Database(tmp_path / "x.db")
    one.run_sync(lambda conn: conn.execute("CREATE TABLE t (x)"))
    insert = "INSERT INTO t VALUES (1)"

    def remembered(database):
        return database.run_sync(lambda conn: database.memory.setdefault("a", conn.total_changes))

    first = remembered(one)
    one.run_sync(lambda conn: conn.execute(insert))
    assert remembered(one) == first
    two.run_sync(lambda conn: conn.execute(insert))
    assert remembered(one) == (second := first + 1)
    one.run_sync(lambda conn: conn.execute(insert))
    with pytest.raises(StorageError):
        one.run_sync(lambda conn: conn.execute("INSERT INTO nothing VALUES (1)"))
    assert remembered(one) > second
    one.close()
    two.close()


async def test_a_glance_sees_what_is_committed_and_nothing_else(db):
    assert db.read_now(values) == []
    await db.run(put(1))
    assert db.read_now(values) == [1]
    other = sqlite3.connect(db.path)
    with other:
        other.execute("INSERT INTO t VALUES (2)")
        assert db.read_now(values) == [1]
    other.close()
    assert db.read_now(values) == [1, 2]
    with pytest.raises(StorageError):
        db.read_now(put(3))
    with pytest.raises(StorageError):
        db.read_now(lambda conn: conn.execute("SELECT nonsense").fetchone())
    db.close()
    with pytest.raises(StorageError, match="closed"):
        db.read_now(values)
