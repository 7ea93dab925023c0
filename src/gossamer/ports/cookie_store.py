"""The cookies of all sessions, as fetchers use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gossamer.core.cookies import Cookie


class CookieStore(Protocol):
    """The cookies of a fetcher. URLs are canonical; ``now`` is in seconds since the epoch."""

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """Return the value of the Cookie header for a request, or ``""``."""
        ...

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> object:
        """Store the cookies of a response that it is allowed to set."""
        ...

    def list_cookies(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """Return all stored cookies of the registrable domain of ``url``, for a browser."""
        ...

    def list_entries(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """Return the stored entries of web storage (``Cookie.is_entry``) of the origin of ``url``."""
        ...

    def keep_cookies(self, session: str, url: str, cookies: Iterable[Cookie], now: float) -> object:
        """Store cookies and web storage entries of the URL's domain from a browser, or delete expired ones.

        Cookies of other domains are ignored. If two have the same name, the newer one counts.
        """
        ...

    def __len__(self) -> int:
        """Return the number of jars."""
        ...
