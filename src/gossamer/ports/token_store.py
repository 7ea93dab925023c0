"""Storage of the tokens of the dashboard and the HTTP API."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.access import AccessToken


class TokenStore(Protocol):
    """Tokens and the sessions made with them, by a digest of their secrets.

    Guarantee: the store never receives a secret. A second token of the same name is refused. After a token is
    revoked, neither it nor its sessions are found.
    """

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """Store a token or a session; return ``False`` if the name is taken or a session's token is gone.

        Deletes entries that have expired by its ``made_at``, and all but the newest 100 sessions of a token.
        """
        ...

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """Return the token or session with this digest, or ``None`` if it is unknown or has expired."""
        ...

    async def list_tokens(self) -> list[AccessToken]:
        """Return all tokens by name, without sessions."""
        ...

    async def revoke_token(self, name: str) -> bool:
        """Delete a token and its sessions; return ``False`` if the name is unknown."""
        ...

    async def end_session(self, digest: bytes) -> None:
        """Delete one session."""
        ...
