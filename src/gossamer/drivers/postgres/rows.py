"""The rows of a query to any PostgreSQL database, through a cursor of the server; nothing is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.redaction import shown_server
from gossamer.drivers.postgres.errors import code_of, translate_error
from gossamer.drivers.postgres.server import driver_errors, import_driver

CONNECT_S = 10.0
_WRONG_QUERIES = ("42", "0A", "25")  # syntax and access rules; not supported; it writes


async def stream_rows(url: str, query: str, chunk: int) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield rows by their columns' names, ``chunk`` at once.

    Raises ``UsageError`` for a query that the server refuses, ``StorageError`` for other troubles.
    """
    driver, place = import_driver(), shown_server(url)
    try:
        try:
            conn = await driver.connect(url, timeout=CONNECT_S)
        except ValueError:  # its text may have a part of a password
            raise UsageError(
                f"{place} is not a URL of PostgreSQL: write postgresql://USER@HOST:PORT/DATABASE, and "
                "special characters of a password as %23 (#), %2F (/), %3A (:), %40 (@)"
            ) from None
        try:
            async with conn.transaction(readonly=True):
                cursor = await conn.cursor(query)
                while rows := await cursor.fetch(chunk):
                    yield [dict(row) for row in rows]
        finally:
            conn.terminate()
    except driver_errors(driver) as error:
        if code_of(error)[:2] in _WRONG_QUERIES:
            raise UsageError(f"PostgreSQL at {place}: {error.args[0]}") from None
        raise translate_error(error, place) from None
