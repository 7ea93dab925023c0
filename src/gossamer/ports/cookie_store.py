"""The cookies of all sessions, as fetchers use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class CookieStore(Protocol):
    """What a fetcher does with cookies. URLs are canonical; ``now`` is in seconds since the epoch."""

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """The value of the Cookie header for a request, ``""`` for none."""
        ...

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> object:
        """Keep what a response sets, as far as it may set it."""
        ...

    def __len__(self) -> int:
        """How many jars there are."""
        ...
