"""The archive of responses, for workers."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult


class ArchiveWriter(Protocol):
    """One worker's part of a job's archive.

    Guarantee: once ``flush`` has returned, every reader sees the written records, whichever process is killed
    later. A broken tail is cut and never read. Bodies are kept as they were sent. By default no credentials
    are written: the values of Authorization, Cookie, Set-Cookie and of headers with secret-like names, and
    request bodies, are left out. A failed write raises :class:`~gossamer.core.errors.StorageError`.
    """

    async def write_exchange(self, request: Request, fetched: FetchResult) -> str:
        """Write a request and its response; return the location (``ArchiveLocation.text``)."""
        ...

    def queue_exchange(self, request: Request, fetched: FetchResult) -> None:
        """Queue a request and its response for ``flush``, which writes many at a lower cost than single
        writes.
        """
        ...

    async def flush(self) -> None:
        """Write the queue and make all records durable and readable, also from other machines if the archive
        is shared.

        After a ``StorageError`` the next call retries.
        """
        ...

    async def close(self) -> None:
        """Flush, and write the index of new records. Idempotent."""
        ...
