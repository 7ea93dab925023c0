"""Where the tokens of the dashboard and the HTTP API are kept."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.access import AccessToken


class TokenStore(Protocol):
    """Tokens and the sessions made with them, by a digest of their secrets.

    Guarantee: no secret is given to it, and none can be had from it; of two tokens of one name the second
    is refused; a token that was revoked is not found again, nor is a session that was made with it.
    """

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """Keep a token or a session; ``False``: the name is taken, or a session's token is not there.

        What has expired by its ``made_at`` is forgotten, and of one token's sessions all but the newest 100.
        """
        ...

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """What a secret with this digest stands for; ``None``: nothing, or it has expired."""
        ...

    async def list_tokens(self) -> list[AccessToken]:
        """All tokens, by name; no sessions."""
        ...

    async def revoke_token(self, name: str) -> bool:
        """Forget a token and its sessions; ``False``: there is none of this name."""
        ...

    async def end_session(self, digest: bytes) -> None:
        """Forget one session."""
        ...
