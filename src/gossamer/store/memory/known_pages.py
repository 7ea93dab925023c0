"""Known pages of spiders, in memory: the readable reference, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from statistics import median_low

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace
from gossamer.policy.freshness import rate_class_of


class MemoryKnownPageStore:
    """A ``KnownPageStore`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, int], KnownPage] = {}

    def save_pages(self, spider: str, pages: Iterable[KnownPage]) -> None:
        """Store pages, as the store does with its results."""
        for page in pages:
            former = self._pages.get((spider, page.fingerprint))
            if former is None or (page.checks and page.checked_at >= former.checked_at):
                self._pages[spider, page.fingerprint] = page

    def _pages_of(self, spider: str) -> list[KnownPage]:
        return [page for (name, _), page in self._pages.items() if name == spider]

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        wanted = {*fingerprints}
        return {page.fingerprint: page for page in self._pages_of(spider) if page.fingerprint in wanted}

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        places = {(page.due_at, page.fingerprint): page for page in self._pages_of(spider)}
        found = [places[place] for place in sorted(places) if place > after and place[0] <= before]
        return found[:limit]

    async def count_rates(self, spider: str) -> dict[int, int]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        seen = (page for page in self._pages_of(spider) if page.checks and page.gone_at is None)
        return dict(Counter(rate_class_of(page.rate) for page in seen))

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        pages = self._pages_of(spider)
        there = [page for page in pages if page.checks and page.gone_at is None]
        again = [page for page in there if page.checks > 1]
        return FreshnessCounts(
            known=len(pages),
            due=sum(page.due_at <= now for page in pages),
            waiting=sum(page.checks == 0 for page in pages),
            new=len(there) - len(again),
            changed=sum(page.has_changed for page in again),
            unchanged=sum(not page.has_changed for page in again),
            gone=sum(page.gone_at is not None for page in pages),
            checks=sum(page.checks for page in pages),
            changes=sum(page.changes for page in pages),
            median_interval_s=median_low([page.interval_s for page in there]) if there else None,
        )
