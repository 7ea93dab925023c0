"""Where it is known how often pages change."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace


class KnownPageStore(Protocol):
    """What is known of the pages of each spider, as ``Store.write`` has stored it with results of visits.

    Guarantee: of two records of one page the one of the later check stays, whatever comes first; of two of
    one check, the one that is stored later. A page that nobody has checked is stored only where nothing is
    known of it. Spiders are told apart by their names.
    """

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """Those that are known, by their fingerprints."""
        ...

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """Pages that are due until a time, the first due first; behind a place."""
        ...

    async def count_rates(self, spider: str) -> dict[int, int]:
        """How many pages, of those that were seen and are there, have rates of each class."""
        ...

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """The pages of a spider, counted."""
        ...
