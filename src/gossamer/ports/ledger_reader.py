"""The ledger, as a person asks for it."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, AttemptRows, PageRecord


class LedgerReader(Protocol):
    """What a person asks a ledger. Reads only."""

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """The latest attempts that fit the filter, newest first, at most ``limit``."""
        ...

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """The same in bounded time: a part that ends early may have fewer, or none, and says where to go on.

        Of what ``since`` and ``until`` say, ten minutes count: rows are written after their attempts.
        """
        ...

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """The page that was parsed, as it was the last time; ``None``: none was."""
        ...

    async def items_on(self, job: Job, url: str) -> int:
        """How many items of the job were found on a page the last time they were seen changed."""
        ...
