"""The connection to a PostgreSQL server: what it says when something is wrong, and its patience."""

import asyncio
import logging
import re
import sys
import threading
from types import SimpleNamespace

import asyncpg
import pytest

from gossamer.core.errors import MissingServiceError, SchemaVersionError, StorageError, UsageError
from gossamer.drivers.postgres.errors import RefusedValueError
from gossamer.drivers.postgres.schema import prepare_schema
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.install import install_command
from gossamer.store.postgres.schema import load_migrations, make_server
from kit.servers import PostgresProcess


@pytest.fixture
async def server(postgres_url):
    found = make_server(postgres_url, patience_s=20)
    yield found
    await found.close()


async def execute(url, *statements):
    conn = await asyncpg.connect(url)
    try:
        for statement in statements:
            await conn.execute(statement)
    finally:
        await conn.close()


async def fails(url, **options):
    """What a check of this URL says."""
    broken = make_server(url, **options)
    with pytest.raises(StorageError) as error:
        await broken.migrate_schema()
    await broken.close()
    assert "secret" not in str(error.value)
    return str(error.value)


def place(url, **parts):
    """The URL with another user or database."""
    host, _, database = url.rpartition("@")[2].partition("/")
    where = {"user": "gossamer", "host": host, "database": database, **parts}
    return "postgresql://{user}@{host}/{database}".format(**where)


# --------------------------------------------------------------------------- what is wrong


async def test_nobody_there(postgres_url):
    said = await fails(place(postgres_url, host="127.0.0.1:1", user="me:secret"))
    assert "127.0.0.1:1" in said
    assert "cannot be reached; is it running" in said


async def test_no_such_database(postgres_url):
    assert "createdb" in await fails(place(postgres_url, database="nowhere"))


async def test_wrong_password():
    with PostgresProcess(password="right") as server:
        url = place(server.url, user="gossamer:secret")
        assert "wrong user name or password; check the URL" in await fails(url)


async def test_no_rights(postgres_url):
    await execute(postgres_url, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    said = await fails(place(postgres_url, user="guest"))
    assert "CREATE SCHEMA gossamer AUTHORIZATION" in said
    await execute(postgres_url, "CREATE SCHEMA gossamer AUTHORIZATION guest")
    allowed = make_server(place(postgres_url, user="guest"))
    await allowed.migrate_schema()
    await allowed.close()


async def test_too_many_connections(postgres_url):
    await execute(postgres_url, "DROP ROLE IF EXISTS narrow", "CREATE ROLE narrow LOGIN CONNECTION LIMIT 0")
    assert "no connections left" in await fails(place(postgres_url, user="narrow"))


async def test_a_database_with_another_encoding(postgres_url):
    latin = f"{postgres_url.rpartition('/')[2]}_latin"
    await execute(
        postgres_url,
        f"CREATE DATABASE {latin} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
    )
    assert "encoding is LATIN1" in await fails(place(postgres_url, database=latin))
    await execute(postgres_url, f"DROP DATABASE {latin} WITH (FORCE)")


async def test_a_version_that_is_too_old():
    old = SimpleNamespace(get_server_version=lambda: SimpleNamespace(major=12, minor=3))
    with pytest.raises(StorageError, match=r"at db is version 12\.3; at least 13 is needed"):
        await prepare_schema(old, "gossamer", "db", {})


async def test_no_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingServiceError, match=re.escape(install_command("postgres"))):
        await make_server("postgresql://db/x").migrate_schema()


@pytest.mark.parametrize("url", ["mysql://u:secret@db/x", "db", ""])
def test_no_url_at_all(url):
    with pytest.raises(UsageError, match="is not a PostgreSQL URL") as error:
        make_server(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["postgresql://u:secret@db:port/x", "postgresql://db/x?sslmode=secret"])
async def test_a_url_that_cannot_be_read(url):
    with pytest.raises(UsageError, match="is not a PostgreSQL URL") as error:
        await make_server(url).migrate_schema()
    assert "secret" not in str(error.value)


def test_urls_are_shown_without_secrets():
    assert repr(make_server("postgresql://u:s@db/x")) == "<PostgresServer postgresql://db/x (well)>"
    with pytest.raises(UsageError, match="name of a schema"):
        PostgresServer("postgresql://db/x", migrations={}, schema="a; DROP")


# --------------------------------------------------------------------------- the schema


async def test_many_that_start_together_make_it_once(postgres_url):
    servers = [make_server(postgres_url) for _ in range(6)]
    await asyncio.gather(*[one.migrate_schema() for one in servers])
    versions = await servers[0].run(lambda conn: conn.fetch("SELECT version FROM version"))
    assert [row[0] for row in versions] == [max(load_migrations())]
    for one in servers:
        await one.close()


async def test_looking_changes_nothing(postgres_url):
    server = make_server(postgres_url)
    await server.check_server()
    conn = await asyncpg.connect(postgres_url)
    assert not await conn.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = 'gossamer'")
    await conn.close()
    await server.migrate_schema()
    await server.check_server()
    await server.run(lambda conn: conn.execute("UPDATE version SET version = 99"))
    with pytest.raises(SchemaVersionError):
        await server.check_server()
    await server.close()
    with pytest.raises(StorageError, match="cannot be reached"):
        await make_server("postgresql://127.0.0.1:1/x").check_server()


async def test_a_newer_schema_is_refused(server, postgres_url):
    await server.run(lambda conn: conn.execute("UPDATE version SET version = 99"))
    other = make_server(postgres_url)
    with pytest.raises(
        SchemaVersionError, match=r"written by a newer Gossamer \(schema 99; this one knows \d+\)"
    ):
        await other.migrate_schema()
    await other.close()


async def test_migrations_run_in_order_and_only_once(server, monkeypatch):
    steps = {**load_migrations(), 98: "CREATE TABLE later (n integer)", 99: "INSERT INTO later VALUES (1)"}
    for _ in range(2):
        await server.run(lambda conn: prepare_schema(conn, "gossamer", "db", steps))
    assert await server.run(lambda conn: conn.fetchval("SELECT count(*) FROM later")) == 1


async def test_a_migration_that_fails_leaves_the_old_version(server):
    steps = {**load_migrations(), 98: "CREATE TABLE later (n integer)", 99: "SELECT nothing()"}
    with pytest.raises(StorageError):
        await server.run(lambda conn: prepare_schema(conn, "gossamer", "db", steps))
    assert await server.run(lambda conn: conn.fetchval("SELECT to_regclass('later')")) is None
    assert await server.run(lambda conn: conn.fetchval("SELECT version FROM version")) == max(
        load_migrations()
    )


def test_our_migrations_are_numbered_without_gaps():
    assert sorted(load_migrations()) == list(range(1, len(load_migrations()) + 1))


# --------------------------------------------------------------------------- patience


def flaky(times, code, kind="EXCEPTION"):
    """Work that the server refuses a few times."""
    tries = []

    async def work(conn):
        tries.append(1)
        if len(tries) <= times:
            await conn.execute(f"DO $$ BEGIN RAISE {kind} SQLSTATE '{code}'; END $$")
        return len(tries)

    return work


@pytest.mark.parametrize("code", ["40001", "40P01", "55P03"])
async def test_conflicts_are_tried_again_in_silence(server, code, caplog):
    assert await server.run(flaky(3, code)) == 4
    assert not caplog.records


@pytest.mark.parametrize("code", ["53100", "53300", "57P03", "25006"])
async def test_trouble_that_passes_is_waited_for_and_logged_once(server, code, caplog):
    results = await asyncio.gather(*[server.run(flaky(2, code)) for _ in range(3)])
    assert results == [3, 3, 3]
    first, *_, back = [record.getMessage() for record in caplog.records]
    assert first.startswith(f"PostgreSQL at {server.place}: ")
    assert first.endswith("trying again for up to 20 s")
    assert "is back after" in back


async def test_patience_ends(postgres_url, caplog):
    server = make_server(postgres_url, patience_s=0.3)
    for _ in range(3):
        with pytest.raises(StorageError, match="disk is full; free some space"):
            await server.run(flaky(1000, "53100"))
    assert len(caplog.records) == 1, "one line, however long it lasts"
    assert repr(server).endswith("(away)>")
    await server.close()


@pytest.mark.parametrize("code", ["42501", "42P01", "XX000"])
async def test_what_does_not_pass_is_not_tried_again(server, code):
    with pytest.raises(StorageError) as error:
        await server.run(flaky(1, code))
    assert not isinstance(error.value, RefusedValueError)


async def test_a_statement_that_takes_too_long(postgres_url):
    server = make_server(postgres_url, patience_s=0, timeout_s=0.5)
    with pytest.raises(StorageError, match="no answer in time"):
        await server.run(lambda conn: conn.execute("SELECT pg_sleep(30)"))
    assert await server.run(lambda conn: conn.fetchval("SELECT 1")) == 1
    await server.close()


async def test_errors_do_not_show_the_values_of_rows(server):
    with pytest.raises(StorageError) as error:
        await server.run(lambda conn: conn.execute("INSERT INTO version VALUES (NULL, '2020-02-02')"))
    assert "version" in str(error.value)
    assert "2020" not in str(error.value)


async def test_an_error_of_the_work_itself_is_its_callers(server):
    async def work(conn):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await server.run(work)


@pytest.mark.long
async def test_it_goes_on_when_the_server_is_back(postgres_server, server, caplog):
    await server.migrate_schema()
    postgres_server.kill()
    waiting = [asyncio.create_task(server.run(lambda c: c.fetchval("SELECT 1"))) for _ in range(8)]
    async with asyncio.timeout(20):
        while not caplog.records:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.to_thread(postgres_server.start)
        assert await asyncio.gather(*waiting) == [1] * 8
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 2
    assert "is back after" in lines[1]


async def test_a_try_that_was_begun_before_the_latest_answer_says_nothing(server, caplog):
    """Which try fails when, while a server comes back, is chance."""
    failing, answering = asyncio.Event(), asyncio.Event()

    async def fails_late(conn):
        if not failing.is_set():
            await failing.wait()
            await conn.execute("DO $$ BEGIN RAISE SQLSTATE '57P03'; END $$")

    async def answers_late(conn):
        await answering.wait()

    begun = [asyncio.create_task(server.run(work)) for work in (fails_late, answers_late)]
    await server.run(flaky(1, "57P03"))
    failing.set()
    await begun[0]
    assert [record.getMessage().count("is back after") for record in caplog.records] == [0, 1]

    trouble = asyncio.create_task(server.run(flaky(3, "57P03")))
    while len(caplog.records) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0)
    answering.set()
    await begun[1]
    assert len(caplog.records) == 3, "what was asked before does not show that it is back"
    await trouble
    assert "is back after" in caplog.records[3].getMessage()
    assert len(caplog.records) == 4


async def test_who_is_cancelled_gives_the_connection_back(postgres_url):
    server = make_server(postgres_url, connections=1)
    await server.migrate_schema()
    sleeper = asyncio.create_task(server.run(lambda conn: conn.execute("SELECT pg_sleep(30)")))
    await asyncio.sleep(0.05)
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper
    assert await server.run(lambda conn: conn.fetchval("SELECT 1")) == 1
    await server.close()


# --------------------------------------------------------------------------- loops


async def test_each_event_loop_has_connections_of_its_own(server):
    await server.migrate_schema()
    found = []

    async def elsewhere():
        found.append(await server.run(lambda conn: conn.fetchval("SELECT pg_backend_pid()")))
        await server.close()

    for _ in range(2):
        thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
        thread.start()
        await asyncio.to_thread(thread.join)
    found.append(await server.run(lambda conn: conn.fetchval("SELECT pg_backend_pid()")))
    assert len(set(found)) == 3
    assert len(server._loops) == 1


async def test_closing_twice_and_using_it_again(server):
    await server.migrate_schema()
    await server.close()
    await server.close()
    assert await server.run(lambda conn: conn.fetchval("SELECT 1")) == 1
