"""Where named bytes are kept: archives, files, exports and outputs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from gossamer.core.blobs import BlobInfo


class BlobStore(Protocol):
    """Named bytes in a folder or a bucket.

    Guarantee: a name holds a whole blob or none, whatever is killed meanwhile; what is put again replaces
    what was there. Names consist of ``[A-Za-z0-9._=/-]`` and have no ``..`` and no empty part: they never
    come from a URL, and another one is a ``ValueError``. Trouble with the disk or the bucket is a
    :class:`~gossamer.core.errors.StorageError`, after the tries that are worth while.
    """

    async def put_file(self, name: str, path: Path) -> None:
        """Store a file of this machine, in parts where it is large. The file itself stays."""
        ...

    async def put_bytes(self, name: str, data: bytes) -> None:
        """Store bytes."""
        ...

    async def read_range(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """A part of a blob, in bytes; ``None`` is all the rest. A part beyond its end is shorter, or empty.

        Raises :class:`~gossamer.core.errors.BlobMissingError`.
        """
        ...

    async def stat_blob(self, name: str) -> BlobInfo | None:
        """The size of a blob, and when it was put; ``None``: there is none."""
        ...

    def stream_bytes(self, name: str) -> AsyncIterator[bytes]:
        """All of a blob in pieces of at most 1 MiB.

        Raises :class:`~gossamer.core.errors.BlobMissingError`.
        """
        ...

    def list_blobs(self, prefix: str) -> AsyncIterator[BlobInfo]:
        """Those whose names begin so, in the order of their names; those half stored are not among them."""
        ...

    async def delete_blob(self, name: str) -> None:
        """Delete a blob, if there is one. Safe to repeat."""
        ...

    async def delete_unfinished(self, before: float) -> int:
        """Delete what somebody who was killed had begun to put before then; how many there were."""
        ...

    async def close(self) -> None:
        """Let go of files and connections. Idempotent."""
        ...
