"""Where it is noted which files jobs have saved."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gossamer.core.files import StoredFile


class FileStore(Protocol):
    """A row for each file of each job, by job and URL. The bytes are elsewhere (``BlobStore``).

    Guarantee: a row that ``see_body`` has found is not forgotten by a ``forget_files`` of an earlier time, so
    what it names may be relied on.
    """

    async def save_file(self, file: StoredFile) -> None:
        """Note a file; it replaces the row of its job and URL, whose ``stored_at`` stays if the bytes do."""
        ...

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """A file with these bytes, whose row is seen from now on; ``None``: there is none."""
        ...

    async def find_file(self, url: str) -> StoredFile | None:
        """The file of a URL that was seen last, by whichever job."""
        ...

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """Files in an order that stays, behind that of a job and a URL; ``job``: only of that id."""
        ...

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """Those of some SHA-256 that a row names."""
        ...

    async def forget_files(self, before: float) -> int:
        """Delete the rows of what was not seen since then; how many there were."""
        ...
