"""Pages by which mirrors are known: on which host each was seen first, by this worker and by all of them."""

from __future__ import annotations

from zlib import crc32

from gossamer.engine.trap_counts import TrapCountStore
from gossamer.policy.content_memory import witness_of
from gossamer.policy.trap_budgets import WITNESS_EVERY
from gossamer.policy.urls import hostname_of

MAX_WITNESSES = 50_000
"""Pages that a worker remembers, about 10 MB."""
MAX_NEW_WITNESSES = 5_000
"""Pages between two saves."""


class MirrorMemory:
    """The mirrors that one worker has seen in a job, and those that other workers reported."""

    def __init__(self, store: TrapCountStore) -> None:
        self._store = store
        self._first: dict[str, str] = {}
        self._unsaved: dict[str, str] = {}
        self._has_mirrors = False

    def __repr__(self) -> str:
        return f"<MirrorMemory of {len(self._first)} pages>"

    @property
    def has_news(self) -> bool:
        """Whether there are mirrors, and pages that other workers do not know."""
        return self._has_mirrors and bool(self._unsaved)

    def add_page(self, url: str, host: str, body: bytes) -> tuple[str, str] | None:
        """Return the name of a page, and the first host (a group) with it; ``None``: it is not compared."""
        path = url[len(host) - 2 :]
        if crc32(path.encode()) % WITNESS_EVERY:
            return None
        page = witness_of(path, hostname_of(url), body)
        first = self._first.setdefault(page, host)
        if first == host and len(self._unsaved) < MAX_NEW_WITNESSES:
            self._unsaved[page] = host
        if len(self._first) > MAX_WITNESSES:
            self._first.clear()
        return page, first

    def settle_first(self, page: str, host: str) -> None:
        """Settle that ``host`` is the older one of two hosts that serve a page."""
        self._has_mirrors = True
        self._first[page] = host

    async def save(self) -> list[tuple[str, str, str]]:
        """Save new sightings, if there is more than one host; return pages with the first host and another.

        Raises ``StorageError``.
        """
        if not self._unsaved or len({*self._first.values()}) < 2:
            return []
        news = dict(self._unsaved)
        known = await self._store.add_witnesses(news)
        self._unsaved = {page: host for page, host in self._unsaved.items() if page not in news}
        self._first.update(known)
        return [(page, first, news[page]) for page, first in known.items() if first != news[page]]
