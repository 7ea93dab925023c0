"""The audit log in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.access_rows import action_of, clean_text, packed_values, row_of_action, with_key
from gossamer.store.attempts import NEWEST

SQL = load_statements("gossamer.store.postgres", "access.sql")


class PostgresActionLog:
    """An ``ActionLog`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action = with_key(action)
        values = (*row_of_action(action), secrets.token_bytes(8))
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["add_action"], *values))
        return replace(action, id=row["id"]) if row is not None and row["is_this"] else None

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find_one("action_by_key", clean_text(token), clean_text(key))

    async def find_action(self, number: int) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find_one("action", number)

    async def _find_one(self, name: str, *values: Any) -> LoggedAction | None:
        row = await self._server.run(lambda conn: conn.fetchrow(SQL[name], *values))
        return None if row is None else action_of(row)

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        name = "actions_of_job" if job else "actions"
        end = NEWEST if before_id is None else before_id
        values = (end, limit, *([clean_text(job)] if job else []))
        return [action_of(row) for row in await self._server.run(lambda c: c.fetch(SQL[name], *values))]

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        values = (number, packed_values(after))
        await self._server.run(lambda conn: conn.execute(SQL["note_after"], *values))

    async def mark_undone(self, number: int, at: float) -> bool:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._server.run(lambda conn: conn.fetchval(SQL["mark_undone"], number, at)) is not None

    async def clear_undone(self, number: int, at: float) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        await self._server.run(lambda conn: conn.execute(SQL["clear_undone"], number, at))
