"""Storage of results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, VisitResult


class Store(Protocol):
    """Items, pages and the ledger of all jobs.

    Guarantee: an item is stored once per spider, type and key, with the value of the latest visit (by the
    time of the visit, not of the write). A page that is stored again, because its lease was lost before it
    was settled, is the same page. Totals are written with the records they count; some counters keep the
    largest, the smallest or the latest value by name (``policy/counter_rules.py``). Any text can be stored:
    characters that a back end cannot keep (half a surrogate pair, NUL) become U+FFFD.
    """

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """Store items (upsert by spider, type, key), pages and attempts; all or nothing."""
        ...

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = ...
    ) -> None:
        """Store ledger rows without a result (expired leases), and counts of a spider.

        ``stats`` are the names and values of :attr:`VisitResult.stats`.
        """
        ...

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Give rows that were just written the reason ``stale``: their leases had been lost.

        They count as attempts and no longer as successes. Items and pages stay. Idempotent.
        """
        ...

    def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """Yield a job's items with the values it saw, or all items as they are now.

        In the order in which they were first stored, after an id, and only those that match.
        """
        ...

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """Return the latest rows of the ledger, newest first."""
        ...

    async def read_totals(self, job: Job) -> JobTotals:
        """Return the totals of a job."""
        ...
