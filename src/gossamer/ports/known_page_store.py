"""Storage of known pages and their rates of change."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace


class KnownPageStore(Protocol):
    """The known pages of each spider, stored by ``Store.write`` with the results of visits.

    Guarantee: of two records of one page the one with the later check stays, in whichever order they arrive;
    with equal checks, the record stored later. A page without a check is stored only if no record exists.
    Spiders are identified by name.
    """

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """Return the known pages by fingerprint."""
        ...

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """Return pages that are due until a time, the earliest first, after a position."""
        ...

    async def count_rates(self, spider: str) -> dict[int, int]:
        """Count the existing pages in each class of change rate."""
        ...

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """Return the page counts of a spider."""
        ...
