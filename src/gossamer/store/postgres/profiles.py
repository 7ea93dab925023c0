"""Profiles of items in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import Job
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements

SQL = load_statements("gossamer.store.postgres", "data.sql")


class PostgresProfileStore:
    """A ``ProfileStore`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        await self._server.run(lambda conn: conn.execute(SQL["save_profile"], job.id, at, record))

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        asked = [job.id for job in jobs]
        rows = await self._server.run(lambda conn: conn.fetch(SQL["profiles"], asked))
        return {row[0]: bytes(row[1]) for row in rows}
