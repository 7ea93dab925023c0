"""Archived responses, for readers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from gossamer.core.archive import ArchivedPage, ArchiveEntry


class ArchiveReader(Protocol):
    """Read-only access to the archived responses of all jobs.

    A job is named by its tag (``core.jobs.tag_of``). Guarantee: a page has the URL, status, headers, body and
    flags that were fetched, except for the values of credentials, which are not archived.
    """

    async def read_page(self, place: str) -> ArchivedPage:
        """Return the response at a location, with its body also if the record only refers to an earlier body.

        Raises :class:`~gossamer.core.errors.BlobMissingError` if the file is gone, and
        :class:`~gossamer.core.errors.ArchiveDamagedError` for a broken record.
        """
        ...

    async def find_page(
        self, job: str, url: str, method: str = "GET", body: bytes = b"", variant: str = ""
    ) -> ArchiveEntry | None:
        """Return the latest response of a job for a canonical URL, or ``None``.

        Prefers responses with this ``variant`` (of the request's session, headers and cookies); without any,
        the latest response counts.
        """
        ...

    def list_pages(self, job: str) -> AsyncIterator[ArchiveEntry]:
        """Yield the latest successful response to each request of a job, oldest first."""
        ...
