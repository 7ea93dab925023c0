"""Profiles of items in the one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.core.jobs import Job
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database

SQL = load_statements("gossamer.store.sqlite", "data.sql")


class SqliteProfileStore:
    """A ``ProfileStore`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        values = (job.id, at, record)
        await self._db.run(lambda conn: conn.execute(SQL["save_profile"], values).rowcount)

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        asked = (msgspec.json.encode([job.id for job in jobs]).decode(),)
        return dict(await self._db.read(lambda conn: conn.execute(SQL["profiles"], asked).fetchall()))
