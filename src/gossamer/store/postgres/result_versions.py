"""Which jobs are results of another one, made again, in PostgreSQL."""

from __future__ import annotations

from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.result_versions import row_of_version, version_of

SQL = load_statements("gossamer.store.postgres", "data.sql")


class PostgresResultVersions:
    """``ResultVersions`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def save_version(self, version: ResultVersion) -> None:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        row = row_of_version(version)
        await self._server.run(lambda conn: conn.execute(SQL["save_version"], *row))

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["versions"], base))
        return [version_of(row) for row in rows]

    async def change_state(self, job: str, state: VersionState) -> bool:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        values = (state.value, job)
        return await self._server.run(lambda conn: conn.fetchval(SQL["change_state"], *values)) is not None
