"""Databases of other people, of which a query is asked: SQLite files and PostgreSQL, by a URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.redaction import shown_server

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgres", "postgres": "postgres"}


def stream_rows(url: str, query: str, chunk: int) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the rows of a query by their columns' names, ``chunk`` at once: memory holds no more.

    Raises ``UsageError`` for an unsuitable URL or query, ``StorageError`` for a database that fails.
    """
    driver = _DRIVERS.get(url.partition(":")[0])
    if driver is None:
        raise UsageError(
            f"--database {shown_server(url)!r} cannot be asked: write sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE"
        )
    rows: AsyncIterator[list[dict[str, Any]]] = import_module(f"gossamer.drivers.{driver}.rows").stream_rows(
        url, query, chunk
    )
    return rows
