"""Where finished files of an archive go: to their final name in a folder, or from here into a bucket."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gossamer.archive.open_file import NOTES, OPEN, OpenWarcFile
from gossamer.archive.scanning import scan_file
from gossamer.core.errors import StorageError
from gossamer.ports.blob_store import BlobStore

WARC = ".warc.gz"
INDEX = ".cdxj"

_OURS = re.compile(r"[^/]+/[0-9a-f]{12}-[0-9]{5,}\.warc\.gz")
"""The file names that a ``WarcWriter`` gives; other files are left alone."""
_HALF_STORED = re.compile(r"[^/]+/[0-9a-f]{12}-[0-9]{5,}(?:\.warc\.gz|\.cdxj)\.[0-9a-f]{8}~")

log = logging.getLogger("gossamer.crawl")


async def delete_files(blobs: BlobStore, before: float) -> int:
    """Delete the finished files of an archive that have not changed since then, with their indexes; how many.

    Nothing else is touched, whatever else is in the folder, also WARC files of others. The index goes first:
    a file that is left without one is still found by the next call.
    """
    changed = {info.name: info.changed_at async for info in blobs.list_blobs("")}
    old = [name for name, at in changed.items() if at < before]
    files = [name for name in old if _OURS.fullmatch(name)]
    for name in files:
        await blobs.delete_blob(name.removesuffix(WARC) + INDEX)
        await blobs.delete_blob(name)
    for name in old:  # a worker was killed between the two, and its file is gone
        file = name.removesuffix(INDEX) + WARC
        if name.endswith(INDEX) and _OURS.fullmatch(file) and not changed.keys() & {file, file + OPEN}:
            await blobs.delete_blob(name)
    return len(files)


class ArchiveDepot:
    """The files of one archive on their way to where they stay.

    ``folder`` is where they are written; ``is_final`` says that they stay there, in the folder of ``blobs``.
    A file and its index stand side by side. The index is written first: a file with its final name has one.
    """

    def __init__(self, blobs: BlobStore, folder: Path, *, is_final: bool) -> None:
        self._blobs = blobs
        self._folder = folder
        self._is_final = is_final

    def __repr__(self) -> str:
        return f"ArchiveDepot({str(self._folder)!r}, {self._blobs!r})"

    def open_file(self, name: str) -> OpenWarcFile:
        """Return a new file that will have this name. Raises ``OSError``."""
        return OpenWarcFile(self._folder / (name + OPEN))

    async def publish_file(self, file: OpenWarcFile, name: str, lines: Sequence[str]) -> None:
        """Put a finished file with its index where it stays. Raises ``StorageError``; then call it again."""
        index = "\n".join([*sorted(lines), ""]).encode()
        await self._blobs.put_bytes(name.removesuffix(WARC) + INDEX, index)
        if not self._is_final:
            await self._blobs.put_file(name, file.path)
        try:
            await asyncio.to_thread(self._let_go, file, name)
        except OSError as error:
            raise StorageError(f"{file.path}: {error.strerror or error}") from error

    def _let_go(self, file: OpenWarcFile, name: str) -> None:
        if self._is_final:
            file.sync()
            file.rename_to(self._folder / name)
        else:
            file.delete()
        file.close()

    async def recover_files(self, job: str) -> None:
        """Take over the files of a job's killed workers: cut at the last whole record, with an index."""
        for path in await asyncio.to_thread(lambda: sorted(self._folder.glob(f"{job}/*{WARC}{OPEN}"))):
            name = path.relative_to(self._folder).as_posix().removesuffix(OPEN)
            try:
                file = await asyncio.to_thread(OpenWarcFile, path, is_new=False)
            except OSError:  # another worker writes it, or has just finished it
                continue
            try:
                await self._recover_file(file, name)
            finally:
                file.close()

    async def delete_abandoned(self, before: float) -> int:
        """Delete files of killed workers that have not changed since then. Return how many.

        Their jobs are abandoned: a resumed job would have called ``recover_files``. Raises ``StorageError``.
        """
        try:
            return await asyncio.to_thread(self._delete_abandoned, before)
        except OSError as error:
            raise StorageError(f"{error.filename or self._folder}: {error.strerror or error}") from error

    def _delete_abandoned(self, before: float) -> int:
        deleted = 0
        for path in self._folder.glob("*/*"):
            name = path.relative_to(self._folder).as_posix()
            is_open = name.endswith(OPEN) and _OURS.fullmatch(name.removesuffix(OPEN))
            is_left = (
                name.endswith(OPEN + NOTES) and not path.with_name(path.name.removesuffix(NOTES)).exists()
            )
            if not (is_open or is_left or _HALF_STORED.fullmatch(name)):
                continue
            with suppress(FileNotFoundError, BlockingIOError):  # another worker writes it
                if path.stat().st_mtime < before:
                    file = OpenWarcFile(path, is_new=False)
                    try:
                        file.delete()
                    finally:
                        file.close()
                    deleted += 1
        return deleted

    async def _recover_file(self, file: OpenWarcFile, name: str) -> None:
        try:
            found = await asyncio.to_thread(scan_file, file.path, name)
            if not found.lines:
                await asyncio.to_thread(file.delete)
                return
            cut = file.size - found.whole_bytes
            file.cut_at(found.whole_bytes)
        except OSError as error:
            raise StorageError(f"{file.path}: {error.strerror or error}") from error
        await self.publish_file(file, name, found.lines)
        log.info(
            "the archive file %s of a worker that was killed has %d answers; the last %d bytes were cut",
            name,
            len(found.lines),
            cut,
        )
