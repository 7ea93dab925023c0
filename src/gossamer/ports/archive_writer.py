"""Where a worker puts what sites answered."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult


class ArchiveWriter(Protocol):
    """One worker's part of a job's archive.

    Guarantee: what was written before ``flush`` returned is read by everybody, whatever is killed then; a
    broken tail is cut, and never read. Bodies are kept as they were sent. No credentials are written, unless
    they are asked for: the values of Authorization, Cookie, Set-Cookie and of all headers that are named
    like secrets, and the body of a request, are left out. What cannot be written is a
    :class:`~gossamer.core.errors.StorageError`.
    """

    async def write_exchange(self, request: Request, fetched: FetchResult) -> str:
        """Write a request and its answer; the place of the answer (``ArchiveLocation.text``)."""
        ...

    def queue_exchange(self, request: Request, fetched: FetchResult) -> None:
        """Have a request and its answer written by ``flush``, of which it costs less than by itself."""
        ...

    async def flush(self) -> None:
        """Make what was written durable, and readable from other machines where the archive is shared.

        What was queued is written first. After a ``StorageError`` the next call tries that again.
        """
        ...

    async def close(self) -> None:
        """Flush, and write the index of what is not indexed yet. Idempotent."""
        ...
