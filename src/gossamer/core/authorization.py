"""Credentials: a user with a password, or a token, and the header that carries them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.lazy import lazy_pattern

_UNSENDABLE = lazy_pattern(r"[\x00-\x1f\x7f]")


def encode_basic(user: bytes, password: bytes) -> str:
    """The value of Authorization, or of Proxy-Authorization, for a user and a password (RFC 7617)."""
    return "Basic " + b64encode(user + b":" + password).decode("ascii")


def authorization_of(auth: Any, name: str) -> str:
    """Return the Authorization header for ``(user, password)``, a token, or a whole value (``Token abc``).

    A text without a space is a bearer token (RFC 6750). Raises :class:`UsageError` for anything else; the
    message shows ``name`` and never the value.
    """
    if isinstance(auth, tuple | list) and len(auth) == 2 and all(isinstance(one, str) for one in auth):
        user, password = auth
        if ":" in user:
            raise UsageError(f"{name}: the user has a colon, which ends a user in Basic credentials")
        return encode_basic(user.encode("utf-8", "replace"), password.encode("utf-8", "replace"))
    if not isinstance(auth, str) or not auth.strip() or _UNSENDABLE.search(auth):
        kind = type(auth).__name__
        raise UsageError(f"{name} must be (user, password), or a token as one line of text, not this {kind}")
    text = str(auth).strip()
    return text if " " in text else f"Bearer {text}"


def secrets_of_authorization(value: str) -> Iterator[str]:
    """Yield the secrets in an Authorization header: the value, its credentials, and a Basic password."""
    yield value
    scheme, _, rest = value.partition(" ")
    yield rest.strip()
    if scheme.lower() == "basic":
        try:
            yield b64decode(rest).decode("utf-8", "replace").partition(":")[2]
        except ValueError:
            return
