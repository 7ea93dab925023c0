"""Where results and jobs are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from gossamer.core.jobs import Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, PageRecord, VisitResult


class LedgerReader(Protocol):
    """What a person asks a ledger."""

    async def find_attempts(
        self,
        job: Job,
        limit: int,
        *,
        urls_: Sequence[str] = (),
        host: str | None = None,
        status: int | None = None,
        verdict: str | None = None,
        reason: str | None = None,
        method: str | None = None,
        flag: str | None = None,
        fingerprint: int | None = None,
    ) -> list[Attempt]:
        """The latest tries that fit, newest first."""
        ...

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """The page that was parsed, as it was the last time."""
        ...

    async def items_on(self, job: Job, url: str) -> int:
        """How many items of the job were found on a page."""
        ...


class Store(Protocol):
    """Items, pages and the ledger of all jobs."""

    async def write(self, job: Job, harvests: Sequence[VisitResult]) -> None:
        """Store items (upsert by spider, type, key), pages and attempts; all or nothing."""
        ...

    async def record_attempts(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Store rows of the ledger that no harvest carries (expired leases)."""
        ...

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Give rows that were written a moment ago the reason ``stale``: their leases had been lost.

        They count as attempts and no longer as successes. Items and pages stay. Safe to repeat.
        """
        ...

    def read_items(self, job: Job | None = None, after_id: int = 0) -> AsyncIterator[StoredItem]:
        """Items that a job saw, with the values that it saw (or all, as they are now), as first stored."""
        ...

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """The latest rows of the ledger, newest first."""
        ...

    async def read_totals(self, job: Job) -> JobTotals:
        """The totals of a job."""
        ...


class JobStore(Protocol):
    """The jobs of a store."""

    async def create(self, name: str, target: str, plan: bytes = b"") -> Job:
        """A new job with an id of its own, running; its plan never changes."""
        ...

    async def get(self, id_or_name: str) -> Job | None:
        """A job by its id, or the latest of that name."""
        ...

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """All jobs, or those whose end is not in the book (they run or are paused); newest first."""
        ...

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """Store ``state``, ``finished_at`` and ``finish_reason``; ``False``: nothing was stored.

        With ``expected`` only if state and ``finished_at`` in the book are still those: somebody else may
        have changed the job since it was read.
        """
        ...


class Committer(Protocol):
    """Where a worker lands what it brings back: items before (or with) their settled lease."""

    async def commit(self, harvests: Sequence[VisitResult]) -> list[bool]:
        """Store each harvest and settle its lease. ``False``: the lease was lost and nothing of it counts.

        An implementation over one database does both in one transaction; over two, the store is
        written first, so that a crash between them costs one fetch and doubles nothing.
        """
        ...
