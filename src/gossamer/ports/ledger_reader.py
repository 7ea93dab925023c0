"""The ledger, as a person asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from gossamer.core.drops import DropSample
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

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """Examples of the items of a job that were dropped, for one reason or any.

        In the order of the reasons; of each the earliest one first, and up to four later ones.
        """
        ...

    def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """Every page that was parsed, a part at a time; in no promised order."""
        ...

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """The page that was parsed, as it was the last time; ``None``: none was."""
        ...
