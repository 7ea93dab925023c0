"""The list of files that jobs have saved."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gossamer.core.files import StoredFile


class FileStore(Protocol):
    """A row for each file of each job, by job and URL. The bytes are elsewhere (``BlobStore``).

    Guarantee: a row that ``see_body`` has found survives a ``forget_files`` of an earlier time, so its blob
    stays valid.
    """

    async def save_file(self, file: StoredFile) -> None:
        """Store a file's row, replacing that of its job and URL; ``stored_at`` stays if the bytes are the
        same.
        """
        ...

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """Return a file with these bytes and mark its row as seen, or ``None``."""
        ...

    async def find_file(self, url: str) -> StoredFile | None:
        """Return the file of a URL that was seen last, by any job."""
        ...

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """Return files in a stable order after a job and a URL; ``job`` selects one job id."""
        ...

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """Return those of some SHA-256 hashes that a row names."""
        ...

    async def forget_files(self, before: float) -> int:
        """Delete the rows that were last seen before this time; return their number."""
        ...
