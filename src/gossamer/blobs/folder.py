"""Blobs as files below a folder of this machine."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from gossamer.blobs.names import check_name, is_name
from gossamer.core.blobs import BlobInfo
from gossamer.core.errors import BlobMissingError, StorageError

PIECE_BYTES = 1024 * 1024
LISTED_AGAIN = 5
"""So often a folder is listed, at most, in which names change meanwhile."""
_UNFINISHED = "~"
"""Ends the name of a file that is being written; no blob is called so."""
_BEGUN = re.compile(rf".\.[0-9a-f]{{8}}{_UNFINISHED}\Z")

ValueT = TypeVar("ValueT")


class FolderBlobStore:
    """A :class:`~gossamer.ports.blob_store.BlobStore` of files. The folder is made with the first blob.

    A blob is written to a file beside its place, synced, and moved there. Nothing outside the folder is read
    or written, even through a link in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))

    def __repr__(self) -> str:
        return f"FolderBlobStore({str(self._folder)!r})"

    async def put_file(self, name: str, path: Path) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""

        def fill(file: BinaryIO) -> None:
            with path.open("rb") as source:
                shutil.copyfileobj(source, file, PIECE_BYTES)

        await asyncio.to_thread(self._put, name, fill)

    async def put_bytes(self, name: str, data: bytes) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        await asyncio.to_thread(self._put, name, lambda file: file.write(data))

    async def read_range(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        return await asyncio.to_thread(self._read, name, offset, length)

    async def stat_blob(self, name: str) -> BlobInfo | None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        return await asyncio.to_thread(self._stat, name)

    async def stream_bytes(self, name: str) -> AsyncIterator[bytes]:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        file = await asyncio.to_thread(self._open, name)
        with file:  # which may be replaced meanwhile: this is the one that was there
            while piece := await asyncio.to_thread(self._attempt, lambda: file.read(PIECE_BYTES)):
                yield piece

    async def list_blobs(self, prefix: str) -> AsyncIterator[BlobInfo]:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        for info in await asyncio.to_thread(self._attempt, lambda: self._list(prefix)):
            yield info

    async def delete_blob(self, name: str) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        await asyncio.to_thread(self._delete, name)

    async def delete_unfinished(self, before: float) -> int:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        return await asyncio.to_thread(self._attempt, lambda: self._delete_unfinished(before))

    async def close(self) -> None:
        """No file stays open."""

    # ------------------------------------------------------------------ in a thread

    def _put(self, name: str, fill: Callable[[BinaryIO], object]) -> None:
        check_name(name)
        self._attempt(lambda: self._write(self._path_of(name), fill))

    def _write(self, path: Path, fill: Callable[[BinaryIO], object]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
        try:
            with beside.open("xb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)

    def _open(self, name: str) -> BinaryIO:
        path = self._path_of(check_name(name))
        try:
            return path.open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise BlobMissingError(f"there is no {name} in {self._folder}") from None
        except OSError as error:
            raise self._trouble(error) from error

    def _read(self, name: str, offset: int, length: int | None) -> bytes:
        with self._open(name) as file:

            def read() -> bytes:
                file.seek(offset)
                return file.read(-1 if length is None else length)

            return self._attempt(read)

    def _stat(self, name: str) -> BlobInfo | None:
        path = self._path_of(check_name(name))
        return self._attempt(lambda: _info_of(path, name) if path.is_file() else None)

    def _list(self, prefix: str) -> list[BlobInfo]:
        start = self._path_of(prefix.rpartition("/")[0])
        for _ in range(LISTED_AGAIN):
            found, is_torn = self._list_once(start, prefix)
            if not is_torn:
                break
        return sorted(found, key=lambda info: info.name)

    def _list_once(self, start: Path, prefix: str) -> tuple[list[BlobInfo], bool]:
        """Return the blobs, and whether some may be missing: a blob renamed meanwhile may be in neither
        place."""
        found, is_torn = [], False
        for folder, _, files in os.walk(start):
            for file in files:
                path = Path(folder, file)
                name = path.relative_to(self._folder).as_posix()
                if not name.startswith(prefix) or not is_name(name):
                    continue
                info = _info_of(path, name)
                if info is None:
                    is_torn = True
                else:
                    found.append(info)
        return found, is_torn

    def _delete(self, name: str) -> None:
        path = self._path_of(check_name(name))

        def remove() -> None:
            path.unlink(missing_ok=True)
            if path.parent.is_dir():
                sync_folder(path.parent)

        self._attempt(remove)

    def _delete_unfinished(self, before: float) -> int:
        deleted = 0
        for folder, _, files in os.walk(self._folder):
            for path in (Path(folder, file) for file in files if is_unfinished(file)):
                info = _info_of(path, path.name)
                if info is not None and info.changed_at < before:
                    path.unlink(missing_ok=True)
                    deleted += 1
        return deleted

    def _path_of(self, name: str) -> Path:
        path = self._folder / name
        if name and not Path(os.path.realpath(path)).is_relative_to(self._folder):
            raise StorageError(f"{path} leads out of {self._folder}: remove that link")
        return path

    def _attempt(self, act: Callable[[], ValueT]) -> ValueT:
        try:
            return act()
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> StorageError:
        return StorageError(f"{error.filename or self._folder}: {error.strerror or error}")


def is_unfinished(file: str) -> bool:
    """Whether a file of this name was begun by ``put_file`` or ``put_bytes``, and not finished."""
    return _BEGUN.search(file) is not None


def sync_folder(folder: Path) -> None:
    """Make durable which names a folder has. Raises ``OSError``."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _info_of(path: Path, name: str) -> BlobInfo | None:
    """``None`` for a file that was deleted just now."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return BlobInfo(name=name, size_bytes=status.st_size, changed_at=status.st_mtime)
