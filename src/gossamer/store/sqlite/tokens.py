"""Tokens in the one SQLite file."""

from __future__ import annotations

from sqlite3 import Connection

from gossamer.core.access import AccessToken
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.access_rows import SESSIONS, clean_text, row_of_token, token_of

SQL = load_statements("gossamer.store.sqlite", "access.sql")


class SqliteTokenStore:
    """A ``TokenStore`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""

        def add(conn: Connection) -> bool:
            conn.execute(SQL["forget_expired"], (token.made_at,))
            is_added = conn.execute(SQL["add_token"], (digest, *row_of_token(token))).rowcount > 0
            conn.execute(SQL["forget_oldest"], (token.name, SESSIONS))
            return is_added

        return await self._db.run(add)

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        row = await self._db.read(lambda conn: conn.execute(SQL["find_token"], (digest, now)).fetchone())
        return None if row is None else token_of(row)

    async def list_tokens(self) -> list[AccessToken]:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        return [token_of(row) for row in await self._db.read(lambda c: c.execute(SQL["tokens"]).fetchall())]

    async def revoke_token(self, name: str) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        values = (clean_text(name),)
        return await self._db.run(lambda conn: conn.execute(SQL["revoke_token"], values).rowcount) > 0

    async def end_session(self, digest: bytes) -> None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        await self._db.run(lambda conn: conn.execute(SQL["end_session"], (digest,)).rowcount)
