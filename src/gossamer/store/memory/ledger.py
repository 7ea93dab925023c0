"""Looking things up in the ledger of a store in memory. Guarantee: reads only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from msgspec.structs import asdict

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.results import (
    EVERY_ATTEMPT,
    Attempt,
    AttemptFilter,
    AttemptRows,
    NumberedAttempt,
    PageRecord,
)
from gossamer.policy import urls
from gossamer.store.memory.store import MemoryStore
from gossamer.store.samples import distinct_samples


class MemoryLedgerReader:
    """A ``LedgerReader`` over a store in memory; the id of a row is its number in its job."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        found = (attempt for _, attempt in self._newest_first(job, which))
        return [attempt for attempt, _ in zip(found, range(limit), strict=False)]

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        rows: list[NumberedAttempt] = []
        for number, attempt in self._newest_first(job, which):
            if before_id is not None and number >= before_id:
                continue
            if len(rows) == limit:
                return AttemptRows(attempts=tuple(rows), next_before=rows[-1].id)
            rows.append(NumberedAttempt(id=number, **asdict(attempt)))
        return AttemptRows(attempts=tuple(rows))

    def _newest_first(self, job: Job, which: AttemptFilter) -> Iterator[tuple[int, Attempt]]:
        rows = self._store.attempts[job.id]
        for number in range(len(rows), 0, -1):
            if _fits_filter(rows[number - 1], which):
                yield number, rows[number - 1]

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        placed = sorted(self._store.samples[job.id].items(), key=lambda one: one[0])
        return distinct_samples((one for (why, _), one in placed if reason in ("", why)), limit)

    async def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        for page in [*self._store.pages[job.id].values()]:
            yield page

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        pages = (page for page in self._store.pages[job.id].values() if page.fingerprint == fingerprint)
        return max(pages, key=lambda page: page.at, default=None)


def _fits_filter(attempt: Attempt, which: AttemptFilter) -> bool:
    """Whether a row fits all that a filter says."""
    wanted = (
        (which.status, attempt.status),
        (which.fingerprint, attempt.fingerprint),
        (which.worker or None, attempt.worker),
        (which.verdict or None, attempt.verdict),
        (which.reason or None, attempt.reason),
        (which.method or None, attempt.method),
        (which.proxy or None, attempt.proxy),
        (which.host or None, urls.host_key(attempt.url) if which.host else ""),
    )
    if any(asked is not None and asked != value for asked, value in wanted):
        return False
    low, high = which.statuses or (0, 1000)
    return (
        low <= attempt.status < high
        and (not which.urls or attempt.url in which.urls)
        and (not which.flag or which.flag in attempt.flags)
        and (not which.rung or f"{attempt.rung}+".startswith(f"{which.rung}+"))
        and (which.since is None or attempt.at >= which.since)
        and (which.until is None or attempt.at < which.until)
    )
