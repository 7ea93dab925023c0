"""Which files jobs have saved, in the one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

import msgspec

from gossamer.core.files import StoredFile
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.files import file_of, place_of_url, row_of_file

SQL = load_statements("gossamer.store.sqlite", "files.sql")
FORGOTTEN_AT_ONCE = 5000


class SqliteFileStore:
    """A ``FileStore`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def save_file(self, file: StoredFile) -> None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        row = row_of_file(file)
        await self._db.run(lambda conn: conn.execute(SQL["save_file"], row).rowcount)

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        def see(conn: sqlite3.Connection) -> StoredFile | None:
            rows = conn.execute(SQL["see_body"], (at, sha256)).fetchall()
            return file_of(rows[0]) if rows else None

        return await self._db.run(see)

    async def find_file(self, url: str) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        asked = (place_of_url(url),)
        row = await self._db.read(lambda conn: conn.execute(SQL["file"], asked).fetchone())
        return None if row is None else file_of(row)

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        name = "files_of_job" if job else "files"
        asked = (job or after[0], place_of_url(after[1]), limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL[name], asked).fetchall())
        return [file_of(row) for row in rows]

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        asked = (msgspec.json.encode([*digests]).decode(),)
        rows = await self._db.read(lambda conn: conn.execute(SQL["named"], asked).fetchall())
        return {row[0] for row in rows}

    async def forget_files(self, before: float) -> int:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        def forget(conn: sqlite3.Connection) -> int:
            return conn.execute(SQL["forget_files"], (before, FORGOTTEN_AT_ONCE)).rowcount

        forgotten, part = 0, FORGOTTEN_AT_ONCE
        while part == FORGOTTEN_AT_ONCE:  # in parts: a crawl writes in between
            part = await self._db.run(forget)
            forgotten += part
        return forgotten
