"""Which files jobs have saved, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gossamer.core.files import StoredFile
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.files import file_of, place_of_url, row_of_file

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "files.sql")
FORGOTTEN_AT_ONCE = 5000


class PostgresFileStore:
    """A ``FileStore`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def save_file(self, file: StoredFile) -> None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        row = row_of_file(file)
        await self._server.run(lambda conn: conn.execute(SQL["save_file"], *row))

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["see_body"], at, sha256))
        return None if row is None else file_of(row)

    async def find_file(self, url: str) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["file"], place_of_url(url)))
        return None if row is None else file_of(row)

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        name = "files_of_job" if job else "files"
        asked = (job or after[0], place_of_url(after[1]), limit)
        rows = await self._server.run(lambda conn: conn.fetch(SQL[name], *asked))
        return [file_of(row) for row in rows]

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["named"], [*digests]))
        return {row[0] for row in rows}

    async def forget_files(self, before: float) -> int:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        async def forget(conn: Connection) -> int:
            return int(await conn.fetchval(SQL["forget_files"], before, FORGOTTEN_AT_ONCE))

        forgotten, part = 0, FORGOTTEN_AT_ONCE
        while part == FORGOTTEN_AT_ONCE:  # in parts: no lock is held for long
            part = await self._server.run(forget)
            forgotten += part
        return forgotten
