"""The audit log in the one SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.access_rows import action_of, clean_text, packed_values, row_of_action, with_key
from gossamer.store.attempts import NEWEST

SQL = load_statements("gossamer.store.sqlite", "access.sql")


class SqliteActionLog:
    """An ``ActionLog`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action = with_key(action)

        def add(conn: Connection) -> LoggedAction | None:
            cursor = conn.execute(SQL["add_action"], row_of_action(action))
            return replace(action, id=cursor.lastrowid or 0) if cursor.rowcount > 0 else None

        return await self._db.run(add)

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find_one("action_by_key", clean_text(token), clean_text(key))

    async def find_action(self, number: int) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find_one("action", number)

    async def _find_one(self, name: str, *values: Any) -> LoggedAction | None:
        row = await self._db.read(lambda conn: conn.execute(SQL[name], values).fetchone())
        return None if row is None else action_of(row)

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        name = "actions_of_job" if job else "actions"
        end = NEWEST if before_id is None else before_id
        values = (end, *([clean_text(job)] if job else []), limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL[name], values).fetchall())
        return [action_of(row) for row in rows]

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        values = (packed_values(after), number)
        await self._db.run(lambda conn: conn.execute(SQL["note_after"], values).rowcount)

    async def mark_undone(self, number: int, at: float) -> bool:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._db.run(lambda conn: conn.execute(SQL["mark_undone"], (at, number)).rowcount) > 0

    async def clear_undone(self, number: int, at: float) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        await self._db.run(lambda conn: conn.execute(SQL["clear_undone"], (number, at)).rowcount)
