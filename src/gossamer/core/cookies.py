"""A cookie, as it is kept and as it is handed from one way to fetch to another."""

from __future__ import annotations

import msgspec


class Cookie(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One cookie. Its characters stand for bytes (Latin-1), so that it is sent as it came."""

    name: str
    value: str  # quotes are part of it
    domain: str  # the host that set it, or its Domain attribute
    path: str
    is_host_only: bool  # for ``domain`` alone, not for hosts below it
    is_secure: bool  # for https only
    expires_at: float  # Unix seconds; infinite without an end. Not after now: it deletes its namesake
    set_at: float = 0.0  # Unix seconds: of namesakes from two workers the newer one counts
    is_http_only: bool = False  # not for scripts of pages

    @property
    def is_entry(self) -> bool:
        """Whether this is an entry of a page's web storage, which is kept beside cookies.

        Its path says where: ``localStorage https://shop.example``. Paths of URLs begin with a slash, so it
        is never sent.
        """
        return not self.path.startswith("/")
