"""The cookies of all sessions, as fetchers use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gossamer.core.cookies import Cookie


class CookieStore(Protocol):
    """What a fetcher does with cookies. URLs are canonical; ``now`` is in seconds since the epoch."""

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """The value of the Cookie header for a request, ``""`` for none."""
        ...

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> object:
        """Keep what a response sets, as far as it may set it."""
        ...

    def list_cookies(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """All cookies that are kept of the registrable domain of ``url``, for a browser."""
        ...

    def list_entries(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """The entries of web storage (``Cookie.is_entry``) that are kept of the origin of ``url``."""
        ...

    def keep_cookies(self, session: str, url: str, cookies: Iterable[Cookie], now: float) -> object:
        """Keep or delete (``expires_at`` not after now) cookies and entries of that domain, as a browser
        has them.

        Those of other domains are not taken. Of two namesakes the newer one counts.
        """
        ...

    def __len__(self) -> int:
        """How many jars there are."""
        ...
