"""SQL over copies of what crawls brought back."""

from contextlib import closing

import msgspec
import pytest

from gossamer.core.errors import UsageError
from gossamer.drivers.sqlite.database import Database
from gossamer.queries.sql import COLUMNS, read_query, run_query, write_tables
from gossamer.runtime.clock import SystemClock
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store_harness import make_item, make_visit_result


class Keeping:
    """A store's parts."""

    def __init__(self, db):
        self.store, self.ledger, self.book = (
            SqliteStore(db),
            SqliteLedgerReader(db),
            SqliteJobStore(db, SystemClock()),
        )


def numbered(key, n):
    return make_item(key, b'{"n":%d}' % n)


@pytest.fixture
async def keeping(tmp_path):
    with closing(Database(tmp_path / "x.db")) as db:
        made = Keeping(db)
        for name in ("a", "b"):
            job = await made.book.create(name, name)
            results = [make_visit_result(numbered(f"{n}", n), number=n, at=n + 0.5) for n in range(1, 1203)]
            await made.store.write(job, results)
        yield made


async def asked(keeping, folder, text):
    query = read_query(text)
    await write_tables(keeping, await keeping.book.list_jobs(), query.tables, folder)
    return list(run_query(query, folder))


@pytest.mark.slow
async def test_all_rows_of_all_tables_are_there(keeping, tmp_path):
    for table, job in (("items", "_job"), ("pages", "job"), ("attempts", "job")):
        rows = await asked(
            keeping, tmp_path, f"SELECT {job} AS job, count(*) AS n FROM {table} GROUP BY 1 ORDER BY 1"
        )
        assert rows == [{"job": "a-1", "n": 1202}, {"job": "b-1", "n": 1202}]
    (row,) = await asked(
        keeping, tmp_path, "SELECT * FROM attempts WHERE job = 'b-1' ORDER BY fetched_at LIMIT 1"
    )
    assert tuple(row) == COLUMNS["attempts"]
    assert (row["fetched_at"], row["host"], row["fingerprint"]) == (
        "1970-01-01T00:00:01.500000",
        "a",
        f"{1:016x}",
    )
    (row,) = await asked(keeping, tmp_path, 'SELECT sum(n) AS "all", min(_last_seen) FROM Items')
    assert row == {"all": 2 * sum(range(1, 1203)), "min(_last_seen)": "1970-01-01T00:00:01.500000"}


@pytest.mark.slow
async def test_only_what_is_named_is_written(keeping, tmp_path):
    await asked(keeping, tmp_path, "WITH x AS (SELECT 1) SELECT * FROM x, pages LIMIT 1")
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["pages.parquet"]


async def test_tables_without_rows_can_be_asked(tmp_path):
    with closing(Database(tmp_path / "y.db")) as db:
        for table in COLUMNS:
            assert await asked(Keeping(db), tmp_path, f"SELECT * FROM {table}") == []


async def test_columns_of_one_name_are_told_apart(tmp_path):
    assert list(run_query(read_query("SELECT 1 AS a, 2 AS a, 3 AS b"), tmp_path)) == [
        {"a": 1, "a_2": 2, "b": 3}
    ]


TAKEN = {
    "capitals": ({"Price": 1, "price": 2, "PRICE": 3}, {"price": "price_2", "PRICE": "PRICE_3"}),
    "columns of the store": ({"_url": 1, "_Job": 2, "url": 3}, {"_url": "_url_2", "_Job": "_Job_2"}),
    "a number that is taken, too": ({"a": 1, "a_2": 2, "A": 3}, {"A": "A_3"}),
    "a number that is taken afterwards": ({"a": 1, "A": 2, "a_2": 3}, {"A": "A_2", "a_2": "a_2_2"}),
    "letters outside ASCII": ({"É": 1, "é": 2}, {}),
    "words of SQL, spaces, quotation marks": ({"select": 1, "a b": 2, 'a"b': 3, "A B": 4}, {"A B": "A B_2"}),
    "no name at all": ({"": 1, "unnamed": 2}, {"": "unnamed", "unnamed": "unnamed_2"}),
    "names of Parquet's reader": ({"filename": 1, "file_row_number": 2, "rowid": 3}, {}),
}


@pytest.mark.parametrize(("fields", "renamed"), TAKEN.values(), ids=TAKEN)
async def test_each_field_can_be_asked_for(tmp_path, fields, renamed):
    with closing(Database(tmp_path / "x.db")) as db:
        keeping = Keeping(db)
        job = await keeping.book.create("a", "a")
        made = make_visit_result(make_item("k", msgspec.json.encode(fields)), number=1, at=1.0)
        await keeping.store.write(job, [made])
        assert await write_tables(keeping, [job], ["items"], tmp_path) == renamed
    for field, value in fields.items():
        column = renamed.get(field, field).replace('"', '""')
        query = read_query(f'SELECT "{column}" AS found, _key AS own FROM items')
        assert list(run_query(query, tmp_path)) == [{"found": value, "own": "k"}]


def test_what_is_no_number_is_nothing(tmp_path):
    """Bug it would catch: a division by zero is a bug of ours where it is printed as JSON."""
    query = read_query("SELECT 1 / 0.0 AS a, [0.0 / 0.0, 1.5] AS b, {'c': -1e308 * 10} AS d")
    assert list(run_query(query, tmp_path)) == [{"a": None, "b": [None, 1.5], "d": {"c": None}}]


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM items",
        "SELECT 1; SELECT 2",
        "COPY (SELECT 1) TO '/tmp/gossamer-was-here.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "SET memory_limit = '1TB'",
        "CREATE TABLE x AS SELECT 1",
        "PRAGMA version",
        "",
        "selec",
    ],
)
def test_only_one_select_is_allowed(text):
    with pytest.raises(UsageError):
        read_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{folder}/../secret')",
        "SELECT * FROM '{folder}/../secret'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM folder",
        "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
        "SELECT getenv('HOME')",
    ],
)
def test_a_query_sees_nothing_else(text, tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "tables"
    folder.mkdir()

    def ask():
        return list(run_query(read_query(text.format(folder=folder)), folder))

    with pytest.raises(UsageError):
        ask()


async def test_items_are_read_from_python(tmp_path, monkeypatch):
    """Whatever of the room of the same name was imported before."""
    import gossamer
    from gossamer.core.errors import StorageError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError):
        await anext(gossamer.items("a"))
    folder = tmp_path / ".gossamer"
    folder.mkdir()
    with closing(Database(folder / "gossamer.db")) as db:
        keeping = Keeping(db)
        for name, at in (("a", 5.0), ("b", 50.0)):
            job = await keeping.book.create("a", name)
            items = [numbered("old", 1), numbered("new", int(at))]
            await keeping.store.write(job, [make_visit_result(*items, at=at)])
    assert [item.data["n"] async for item in gossamer.items("a-1")] == [1, 5]
    assert [item.data["n"] async for item in gossamer.items("a", changed_since=10.0)] == [50]
    assert [item async for item in gossamer.items("a", type="Other")] == []
