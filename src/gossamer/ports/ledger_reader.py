"""Queries of the ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, AttemptRows, PageRecord


class LedgerReader(Protocol):
    """Read-only queries of the ledger."""

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """Return the latest attempts that match the filter, newest first, at most ``limit``."""
        ...

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """Return attempts in bounded time; a part that ends early names the position to continue from.

        ``since`` and ``until`` are widened by ten minutes: rows are written after their attempts.
        """
        ...

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """Return samples of a job's dropped items, for one reason or all.

        Sorted by reason; for each the earliest one first, then up to four later ones.
        """
        ...

    def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """Yield every parsed page in parts, in no particular order."""
        ...

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """Return the latest parsed version of a page, or ``None``."""
        ...
