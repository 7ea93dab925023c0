"""Compressed files: written as they come, and unpacked as a whole where one is to be continued."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from gossamer.core.errors import UsageError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_LEVEL = 6
ZSTD_LEVEL = 3
PIECE_BYTES = 1 << 18
"""Bytes that are handed to a compressor at once."""


@contextmanager
def open_packed(out: BinaryIO, compression: str) -> Iterator[BinaryIO]:
    """A file whose bytes go to ``out`` compressed. It is complete when the block ends; ``out`` stays open."""
    packed = (
        zstd.ZstdFile(out, "wb", level=ZSTD_LEVEL)
        if compression == "zstd"
        else gzip.GzipFile("", "wb", GZIP_LEVEL, out, mtime=0)
    )
    with packed:
        buffered = io.BufferedWriter(cast("io.RawIOBase", packed), PIECE_BYTES)
        try:
            yield cast("BinaryIO", buffered)
        finally:
            buffered.detach()  # writes the rest


@contextmanager
def open_unpacked(old: BinaryIO, compression: str, place: str) -> Iterator[BinaryIO]:
    """The content of a compressed file, as a file. Raises :class:`UsageError` for one that is damaged."""
    opened = zstd.ZstdFile(old) if compression == "zstd" else gzip.GzipFile(fileobj=old)
    with tempfile.TemporaryFile() as plain:
        try:
            with opened:
                shutil.copyfileobj(opened, plain, PIECE_BYTES)
        except (zstd.ZstdError, zlib.error, gzip.BadGzipFile, EOFError) as error:
            raise UsageError(
                f"{place} is not a whole {compression} file ({error}): overwrite it or choose another file"
            ) from None
        plain.seek(0)
        yield cast("BinaryIO", plain)
