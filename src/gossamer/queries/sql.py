"""SQL over the results of crawls: tables for one query, written as Parquet files and read by DuckDB.

The query sees copies only: no files, no network, no settings. It cannot change or harm stored data. Only the
tables that it names are written, and memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.results import Attempt, PageRecord
from gossamer.export.formats import load_writer
from gossamer.policy.urls import host_key
from gossamer.ports.backends import StoreBackend
from gossamer.queries.documents import fingerprint_text

ITEM_COLUMNS = ("_job", "_type", "_key", "_url", "_first_seen", "_last_seen", "_changed_at")
WHEN = "fetched_at"
"""The column of ``at``, which is a word of SQL."""
_LEFT_OUT = ("at", "request")
PAGE_COLUMNS, ATTEMPT_COLUMNS = (
    ("job", "host", WHEN, *(name for name in kind.__struct_fields__ if name not in _LEFT_OUT))
    for kind in (PageRecord, Attempt)
)
COLUMNS = {"items": ITEM_COLUMNS, "pages": PAGE_COLUMNS, "attempts": ATTEMPT_COLUMNS}
"""The tables with their columns; items also have a column for each field."""

TIMES = {"items": ITEM_COLUMNS[4:], "pages": (WHEN,), "attempts": (WHEN,)}
"""Columns that are times, in UTC."""

UNNAMED = "unnamed"
"""The column of a field whose name is empty."""
PART = 1000
"""Rows that are read at a time."""
MEMORY = "1GB"
"""Memory limit of a query; more data goes to a temporary folder."""


class TableQuery(Record, frozen=True):
    """A query that only reads."""

    text: str
    tables: tuple[str, ...]  # those of ours that it names


def read_query(text: str) -> TableQuery:
    """Check a query. Raises ``UsageError`` unless it is one SELECT."""
    with closing(_open_limited()) as connection:
        connection.execute("SET enable_external_access = false")  # names are resolved in the query
        try:
            found = connection.extract_statements(text)
            kinds = [statement.type for statement in found]
            if kinds != [duckdb.StatementType.SELECT]:
                raise UsageError("only one SELECT is allowed: SQL reads stored data and never changes it")
            named = {name.lower() for name in connection.get_table_names(text)}
        except duckdb.Error as error:
            raise UsageError(f"the query cannot be read: {error}") from None
    return TableQuery(text, tuple(name for name in COLUMNS if name in named))


class _FieldColumns(dict[str, str]):
    """The column of each field. DuckDB does not tell capitals of ASCII from small letters in names."""

    def __init__(self) -> None:
        self._taken = {_folded(name) for name in ITEM_COLUMNS}

    def __missing__(self, field: str) -> str:
        free = name = field or UNNAMED
        number = 1
        while _folded(free) in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(_folded(free))
        self[field] = free
        return free


def _folded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass").lower()


async def write_tables(
    keeping: StoreBackend, jobs: Sequence[Job], tables: Sequence[str], folder: Path
) -> dict[str, str]:
    """Write the rows of some jobs as files, one of each table.

    Gives the fields of items whose columns have other names, because theirs were taken: by a column of the
    store, or by a field that differs in capitals only.
    """
    columns = _FieldColumns()
    rows: dict[str, Callable[[StoreBackend, Job], AsyncIterator[dict[str, Any]]]]
    rows = {"items": partial(_read_items, columns=columns), "pages": _read_pages, "attempts": _read_attempts}
    for table in tables:
        with (folder / f"{table}.parquet").open("wb") as out:
            writer = load_writer("parquet")(out, None, table, fields=COLUMNS[table])
            with closing(writer):
                for job in jobs:
                    async for row in rows[table](keeping, job):
                        writer.write_item(row)
                writer.write_end()
    return {field: column for field, column in columns.items() if field != column}


def run_query(query: TableQuery, folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of a query over the files of a folder. Raises ``UsageError`` for one that fails."""
    with closing(_connect(query, folder)) as connection:
        try:
            result = connection.execute(query.text)
            names = _distinct_names([column[0] for column in result.description or ()])
            while rows := result.fetchmany(PART):
                for row in rows:
                    told = msgspec.to_builtins(dict(zip(names, row, strict=True)), str_keys=True)
                    yield _without_infinity(told)
        except duckdb.Error as error:
            tables = ", ".join(COLUMNS)
            raise UsageError(f"the query failed: {error}\nthe tables are {tables}") from None


def _without_infinity(value: Any) -> Any:
    """The value with nothing for numbers that JSON does not have, as of a division by zero."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _without_infinity(inner) for name, inner in value.items()}
    return list(map(_without_infinity, value)) if isinstance(value, list) else value


def _connect(query: TableQuery, folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory that can read the files of one folder only."""
    place = str(folder).replace("'", "''")
    connection = _open_limited(f"temp_directory = '{place}'", f"allowed_directories = ['{place}']")
    for table in query.tables:
        times = ", ".join(
            f"make_timestamp(CAST(CAST({name} AS DOUBLE) * 1000000 AS BIGINT)) AS {name}"
            for name in TIMES[table]
        )
        connection.execute(
            f"CREATE VIEW {table} AS SELECT * REPLACE ({times}) "  # noqa: S608 - of words of ours
            f"FROM read_parquet('{place}/{table}.parquet')"
        )
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _open_limited(*more: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for setting in (
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        f"memory_limit = '{MEMORY}'",
        *more,
        "TimeZone = 'UTC'",
    ):
        try:
            connection.execute(f"SET {setting}")
        except duckdb.CatalogException:  # time zones need an extension
            continue
    return connection


def _distinct_names(names: Sequence[str]) -> list[str]:
    """The names of columns; a second ``url`` is ``url_2``."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found[free] = None
    return list(found)


async def _read_items(
    keeping: StoreBackend, job: Job, columns: dict[str, str]
) -> AsyncIterator[dict[str, Any]]:
    async for item in keeping.store.read_items(job):
        own = (job.id, item.type, item.key, item.url, item.first_seen, item.last_seen, item.changed_at)
        fields = {columns[field]: value for field, value in item.data.items()}
        yield {**dict(zip(ITEM_COLUMNS, own, strict=True)), **fields}


async def _read_pages(keeping: StoreBackend, job: Job) -> AsyncIterator[dict[str, Any]]:
    async for page in keeping.ledger.read_pages(job):
        yield _row_of(job, page, PAGE_COLUMNS)


async def _read_attempts(keeping: StoreBackend, job: Job) -> AsyncIterator[dict[str, Any]]:
    before: int | None = None
    while True:
        found = await keeping.ledger.page_attempts(job, PART, before_id=before)
        for attempt in found.attempts:
            yield _row_of(job, attempt, ATTEMPT_COLUMNS)
        before = found.next_before
        if before is None:
            return


def _row_of(job: Job, record: PageRecord | Attempt, columns: Sequence[str]) -> dict[str, Any]:
    values = msgspec.structs.asdict(record)
    values |= {"job": job.id, "host": host_key(record.url), WHEN: record.at}
    values["fingerprint"] = fingerprint_text(record.fingerprint)
    row: dict[str, Any] = msgspec.to_builtins({name: values[name] for name in columns})
    return row
