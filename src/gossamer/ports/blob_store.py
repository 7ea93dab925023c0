"""Storage of named bytes: archives, files, exports and outputs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from gossamer.core.blobs import BlobInfo


class BlobStore(Protocol):
    """Named bytes in a folder or a bucket.

    Guarantee: a name holds a complete blob or none, even if a writer is killed; a second put replaces the
    first. Names consist of ``[A-Za-z0-9._=/-]`` without ``..`` or empty parts, and never come from a URL;
    other names raise ``ValueError``. Trouble with the disk or the bucket raises
    :class:`~gossamer.core.errors.StorageError` after reasonable retries.
    """

    async def put_file(self, name: str, path: Path) -> None:
        """Store a local file, in parts if it is large. The file itself stays."""
        ...

    async def put_bytes(self, name: str, data: bytes) -> None:
        """Store bytes."""
        ...

    async def read_range(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a byte range of a blob; ``None`` means up to the end. A range beyond the end is cut.

        Raises :class:`~gossamer.core.errors.BlobMissingError`.
        """
        ...

    async def stat_blob(self, name: str) -> BlobInfo | None:
        """Return the size of a blob and the time of its put, or ``None``."""
        ...

    def stream_bytes(self, name: str) -> AsyncIterator[bytes]:
        """Yield a blob in pieces of at most 1 MiB.

        Raises :class:`~gossamer.core.errors.BlobMissingError`.
        """
        ...

    def list_blobs(self, prefix: str) -> AsyncIterator[BlobInfo]:
        """List the complete blobs whose names have this prefix, sorted by name."""
        ...

    async def delete_blob(self, name: str) -> None:
        """Delete a blob if it exists. Idempotent."""
        ...

    async def delete_unfinished(self, before: float) -> int:
        """Delete the unfinished puts of killed processes that began before this time; return their number."""
        ...

    async def close(self) -> None:
        """Close files and connections. Idempotent."""
        ...
