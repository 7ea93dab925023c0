"""Tokens in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.core.access import AccessToken
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.access_rows import SESSIONS, clean_text, row_of_token, token_of

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "access.sql")


class PostgresTokenStore:
    """A ``TokenStore`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""

        async def add(conn: Connection) -> bool:
            async with conn.transaction():
                await conn.execute(SQL["forget_expired"], token.made_at)
                await conn.execute(SQL["add_token"], digest, *row_of_token(token))
                await conn.execute(SQL["forget_oldest"], token.name, SESSIONS)
                return bool(await conn.fetchval(SQL["is_added"], digest))

        return await self._server.run(add)

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["find_token"], digest, now))
        return None if row is None else token_of(row)

    async def list_tokens(self) -> list[AccessToken]:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        return [token_of(row) for row in await self._server.run(lambda conn: conn.fetch(SQL["tokens"]))]

    async def revoke_token(self, name: str) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        done = await self._server.run(lambda conn: conn.execute(SQL["revoke_token"], clean_text(name)))
        return done != "DELETE 0"

    async def end_session(self, digest: bytes) -> None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        await self._server.run(lambda conn: conn.execute(SQL["end_session"], digest))
