"""Blobs as objects of a bucket that speaks S3."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import (
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from gossamer.blobs.names import check_name, is_name
from gossamer.core.blobs import BlobInfo
from gossamer.core.errors import BlobMissingError, StorageError

PIECE_BYTES = 1024 * 1024
PART_BYTES = 8 * 1024 * 1024
"""The size of a part in a multipart upload."""
TRIES = 5
PATIENCE = timedelta(seconds=60)
SHOWN_CHARACTERS = 300


class BucketBlobStore:
    """A :class:`~gossamer.ports.blob_store.BlobStore` over S3. Keys come from the environment (``AWS_*``).

    Temporary failures are retried, five times within a minute. An object becomes visible only when all of it
    has arrived: S3 guarantees that.
    """

    def __init__(
        self, bucket: str, prefix: str, *, endpoint: str = "", region: str = "", allow_http: bool = False
    ) -> None:
        self._shown = f"s3://{bucket}/{prefix}".rstrip("/")
        said: dict[str, Any] = {"endpoint": endpoint, "region": region}  # empty: taken from the environment
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            client_options={"timeout": timedelta(seconds=60), "allow_http": allow_http},
            retry_config={"max_retries": TRIES - 1, "retry_timeout": PATIENCE},
            **{name: value for name, value in said.items() if value},
        )

    def __repr__(self) -> str:
        return f"BucketBlobStore({self._shown!r})"

    async def put_file(self, name: str, path: Path) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            await obstore.put_async(self._store, name, path, chunk_size=PART_BYTES)

    async def put_bytes(self, name: str, data: bytes) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            await obstore.put_async(self._store, name, data, use_multipart=False)

    async def read_range(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            if length == 0 or (offset and await self._size_of(name) <= offset):
                await self._size_of(name)  # which says that it is missing
                return b""
            said: Any = {"offset": offset} if length is None else (offset, offset + length)
            whole = length is None and not offset  # also of an empty one, which has no ranges
            found = await obstore.get_async(self._store, name, options={} if whole else {"range": said})
            return bytes(await found.bytes_async())

    async def stat_blob(self, name: str) -> BlobInfo | None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            try:
                found = await obstore.head_async(self._store, name)
            except (FileNotFoundError, NotFoundError):
                return None
        return _info_of(found)

    async def stream_bytes(self, name: str) -> AsyncIterator[bytes]:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            found = await obstore.get_async(self._store, name)
            async for chunk in found.stream(min_chunk_size=PIECE_BYTES):
                piece = bytes(chunk)
                for start in range(0, len(piece), PIECE_BYTES):
                    yield piece[start : start + PIECE_BYTES]

    async def list_blobs(self, prefix: str) -> AsyncIterator[BlobInfo]:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        folder = prefix.rpartition("/")[0]  # the service's client lists by whole parts of names
        with self._trouble(folder):
            async for group in obstore.list(self._store, prefix=folder or None):
                for found in sorted(group, key=lambda one: one["path"]):
                    name = found["path"]
                    if name.startswith(prefix) and is_name(name):
                        yield _info_of(found)

    async def delete_blob(self, name: str) -> None:
        """See :class:`~gossamer.ports.blob_store.BlobStore`."""
        with self._trouble(check_name(name)):
            try:
                await obstore.delete_async(self._store, name)
            except (FileNotFoundError, NotFoundError):
                return

    async def delete_unfinished(self, before: float) -> int:
        """Do nothing: parts of an unfinished upload are not objects; the bucket's own rules delete them."""
        return 0

    async def close(self) -> None:
        """Its connections end with it."""

    async def _size_of(self, name: str) -> int:
        return (await obstore.head_async(self._store, name))["size"]

    @contextmanager
    def _trouble(self, name: str) -> Iterator[None]:
        """Raise errors of the service as errors of the project."""
        try:
            yield
        except (BaseError, OSError) as error:
            raise self._say(error, name) from error

    def _say(self, error: Exception, name: str) -> StorageError:
        if "NoSuchBucket" in str(error):
            return StorageError(f"{self._shown}: there is no such bucket: make it, or name another")
        if isinstance(error, FileNotFoundError | NotFoundError):
            return BlobMissingError(f"there is no {name} in {self._shown}")
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            return StorageError(
                f"{self._shown}: access is denied: the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
                "must allow reading, writing, listing and deleting there"
            )
        why = " ".join(str(error).partition("Debug source")[0].split())[:SHOWN_CHARACTERS]
        return StorageError(
            f"{self._shown}: the bucket cannot be reached or does not answer as it should ({why}); "
            "s3.endpoint and s3.region say where it is"
        )


def _info_of(found: Any) -> BlobInfo:
    """Return the facts about an object from the client's answer."""
    changed_at = found["last_modified"].timestamp()
    return BlobInfo(name=found["path"], size_bytes=found["size"], changed_at=changed_at)
