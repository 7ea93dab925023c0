"""Where results are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, VisitResult


class Store(Protocol):
    """Items, pages and the ledger of all jobs.

    Guarantee: an item is stored once per spider, type and key, with the value of the latest visit (by the
    time of the visit, not of the writing); a page that is stored again, because its lease was lost before it
    was settled, is the same page; totals are counted together with what they count; of a counter whose name
    says so the largest, the smallest or the latest value stays (``policy/counter_rules.py``). Text is stored
    whatever it holds: what a place cannot keep (half a surrogate pair, NUL) becomes U+FFFD.
    """

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """Store items (upsert by spider, type, key), pages and attempts; all or nothing."""
        ...

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = ...
    ) -> None:
        """Store rows of the ledger that no result carries (expired leases), and what a spider has counted.

        ``stats`` are the names and values of :attr:`VisitResult.stats`.
        """
        ...

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Give rows that were written a moment ago the reason ``stale``: their leases had been lost.

        They count as attempts and no longer as successes. Items and pages stay. Safe to repeat.
        """
        ...

    def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """Items that a job saw, with the values that it saw, or all, as they are now.

        In the order in which they were first stored; those behind an id, and of those the ones that fit.
        """
        ...

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """The latest rows of the ledger, newest first."""
        ...

    async def read_totals(self, job: Job) -> JobTotals:
        """The totals of a job."""
        ...
