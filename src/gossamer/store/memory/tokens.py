"""Tokens in memory: the readable reference, for tests."""

from __future__ import annotations

from gossamer.core.access import AccessToken
from gossamer.store.access_rows import SESSIONS


class MemoryTokenStore:
    """A ``TokenStore`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._tokens: dict[bytes, AccessToken] = {}

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        is_taken = any(known.name == token.name for known in await self.list_tokens())
        if is_taken is not token.is_session or digest in self._tokens:
            return False
        self._tokens = {known: kept for known, kept in self._tokens.items() if _is_good(kept, token.made_at)}
        self._tokens[digest] = token
        sessions = [
            known for known, kept in self._tokens.items() if kept.is_session and kept.name == token.name
        ]
        for oldest in sorted(sessions, key=lambda known: self._tokens[known].made_at)[:-SESSIONS]:
            del self._tokens[oldest]
        return True

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        token = self._tokens.get(digest)
        return token if token is not None and _is_good(token, now) else None

    async def list_tokens(self) -> list[AccessToken]:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        return sorted(
            (token for token in self._tokens.values() if not token.is_session), key=lambda token: token.name
        )

    async def revoke_token(self, name: str) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        kept = {digest: token for digest, token in self._tokens.items() if token.name != name}
        is_there = len(kept) < len(self._tokens)
        self._tokens = kept
        return is_there

    async def end_session(self, digest: bytes) -> None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        token = self._tokens.get(digest)
        if token is not None and token.is_session:
            del self._tokens[digest]


def _is_good(token: AccessToken, now: float) -> bool:
    return token.expires_at is None or token.expires_at > now
