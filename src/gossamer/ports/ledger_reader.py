"""The ledger, as a person asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, PageRecord


class LedgerReader(Protocol):
    """What a person asks a ledger. Reads only."""

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
        """The latest attempts that fit all filters, newest first, at most ``limit``.

        ``urls_`` are spellings of one URL, any of which fits; ``host`` is a politeness key (``host`` or
        ``host:port``); ``status`` 0 means no response; ``flag`` is one of a page's flags.
        """
        ...

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """The page that was parsed, as it was the last time; ``None``: none was."""
        ...

    async def items_on(self, job: Job, url: str) -> int:
        """How many items of the job were found on a page the last time they were seen changed."""
        ...
