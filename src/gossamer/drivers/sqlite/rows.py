"""The rows of a query to any SQLite file, some at once; the file is only read."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gossamer.core.errors import StorageError, UsageError

WAIT_S = 10.0
"""How long to wait for another process that writes to the file."""


async def stream_rows(url: str, query: str, chunk: int) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield rows by their columns' names, ``chunk`` at once.

    Raises ``UsageError`` for a query that SQLite refuses, ``StorageError`` for a file that it cannot read.
    """
    path = Path(url.removeprefix("sqlite:///"))
    conn = _open_file(path)
    try:
        cursor = await asyncio.to_thread(conn.execute, query)
        names = [column[0] for column in cursor.description or ()]
        while rows := await asyncio.to_thread(cursor.fetchmany, chunk):
            yield [dict(zip(names, row, strict=True)) for row in rows]
    except (sqlite3.ProgrammingError, sqlite3.OperationalError) as error:
        raise UsageError(f"{path}: {error}") from None
    except sqlite3.Error as error:
        raise StorageError(f"{path}: {error}") from None
    finally:
        conn.close()


def _open_file(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    try:
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False, timeout=WAIT_S
        )
    except sqlite3.Error as error:
        raise StorageError(f"{path}: {error}") from None
