"""Tokens: made, listed, revoked, and turned into the sessions of browsers."""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

from gossamer.core.access import LOCAL, AccessToken, Role
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.ports.token_store import TokenStore

PREFIX = "gossamer_"
"""The prefix of every secret, so that people and repository scanners recognise it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class NewToken(Record, frozen=True, kw_only=True):
    """A token just made, with its secret, which is nowhere else."""

    token: AccessToken
    secret: str


def make_secret() -> str:
    """256 random bits, in text that goes into a header."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> bytes:
    """Return the stored digest of a secret.

    One round of SHA-256 is enough: slow and salted hashes protect passwords that can be guessed, and 256
    random bits cannot be. So checking each request costs next to nothing.
    """
    return sha256(secret.encode("utf-8", "replace")).digest()


async def create_token(tokens: TokenStore, name: str, role: Role, now: float) -> NewToken:
    """Return a new token, made ``now``. Raises ``UsageError`` for a name that is taken, or that is none."""
    if not _NAME.fullmatch(name) or name == LOCAL:
        raise UsageError(
            f"{name!r} cannot be a token's name; use up to 64 letters, digits, . _ - and @, not {LOCAL!r}"
        )
    made = NewToken(token=AccessToken(name=name, role=role, made_at=now), secret=make_secret())
    if not await tokens.add_token(made.token, digest_of(made.secret)):
        raise UsageError(
            f"there is a token {name!r} already; choose another name, or `gossamer token revoke {name}` first"
        )
    return made


async def revoke_token(tokens: TokenStore, name: str) -> None:
    """Forget a token and the sessions made with it. Raises ``UsageError`` when there is none of this name."""
    if not await tokens.revoke_token(name):
        known = ", ".join(token.name for token in await tokens.list_tokens()) or "none"
        raise UsageError(f"unknown token {name!r}; there are: {known}")
