"""Which jobs are results of another one, made again, in the one SQLite file."""

from __future__ import annotations

from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.result_versions import row_of_version, version_of

SQL = load_statements("gossamer.store.sqlite", "data.sql")


class SqliteResultVersions:
    """``ResultVersions`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def save_version(self, version: ResultVersion) -> None:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        row = row_of_version(version)
        await self._db.run(lambda conn: conn.execute(SQL["save_version"], row).rowcount)

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["versions"], (base,)).fetchall())
        return [version_of(row) for row in rows]

    async def change_state(self, job: str, state: VersionState) -> bool:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        values = (state.value, job)
        return await self._db.run(lambda conn: conn.execute(SQL["change_state"], values).rowcount) > 0
