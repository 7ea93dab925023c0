"""What sites answered, read again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from gossamer.core.archive import ArchivedPage, ArchiveEntry


class ArchiveReader(Protocol):
    """The archive of all jobs of a place. Reads only.

    A job is named by its tag (``core.jobs.tag_of``). Guarantee: a page is equal to what was fetched in URL,
    status, headers, body and flags, but for the values of credentials, which are not written.
    """

    async def read_page(self, place: str) -> ArchivedPage:
        """The answer at a place. One that only refers to an earlier body has that body.

        Raises :class:`~gossamer.core.errors.BlobMissingError` where there is nothing any more, and
        :class:`~gossamer.core.errors.ArchiveDamagedError` for a broken record.
        """
        ...

    async def find_page(
        self, job: str, url: str, method: str = "GET", body: bytes = b"", variant: str = ""
    ) -> ArchiveEntry | None:
        """The latest answer of a job to a request to a canonical URL; ``None``: there is none.

        Of several the latest with that ``variant`` (of the request's session, headers and cookies); where no
        answer has it, the latest of all.
        """
        ...

    def list_pages(self, job: str) -> AsyncIterator[ArchiveEntry]:
        """The latest successful answer to each request of a job, oldest first."""
        ...
