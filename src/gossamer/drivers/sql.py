"""SQL lives in ``.sql`` files, as named statements; rows go in by the dozen.

Why by the dozen: each step of a statement hands the interpreter lock back and forth. Beside an event
loop that is busy parsing, one statement of 64 rows waits for the lock once and 64 statements 64 times.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

_SMALL, _LARGE = 64, 256  # rows in a statement: few sizes, so that the statements stay prepared
_MARK = "-- name: "


def load_statements(package: str, file: str) -> dict[str, str]:
    """Return the statements of ``file`` by the names in their ``-- name:`` lines."""
    found = {}
    for block in (files(package) / file).read_text("utf-8").split(_MARK)[1:]:
        name, _, text = block.partition("\n")
        found[name.strip()] = text.strip().rstrip(";")
    return found


def write_rows(conn: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Run ``statement`` with ``rows`` in place of its ``:rows``; the number of rows changed.

    ``:rows`` stands where ``VALUES`` takes its lists: ``INSERT INTO t (a, b) VALUES :rows``.
    """
    return sum(max(cursor.rowcount, 0) for cursor in _run_chunks(conn, statement, rows))


def write_rows_returning(
    conn: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Run a statement with ``RETURNING``; its rows come in no guaranteed order."""
    return [row for cursor in _run_chunks(conn, statement, rows, fetch=True) for row in cursor]


def _run_chunks(
    conn: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]], *, fetch: bool = False
) -> Iterable[Any]:
    start = 0
    while start < len(rows):
        left = len(rows) - start
        size = min(left, _SMALL) if left < _LARGE else _LARGE
        chunk = rows[start : start + size]
        start += size
        values = tuple(chain.from_iterable(chunk))
        cursor = conn.execute(_with_rows(statement, size, len(chunk[0])), values)
        yield cursor.fetchall() if fetch else cursor


@cache
def _with_rows(statement: str, rows: int, columns: int) -> str:
    row = "(" + ", ".join("?" * columns) + ")"
    return statement.replace(":rows", ", ".join([row] * rows))
