"""Replacing a file as a whole: written beside it, flushed to the disk, renamed over it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from gossamer.core.errors import StorageError, UsageError


@contextmanager
def replace_file(
    path: Path, *, keep: bool, ready: Callable[[Path], None] = lambda part: None
) -> Iterator[tuple[BinaryIO, BinaryIO | None]]:
    """A new file to write, and the old one to copy from (``keep``, when it has content).

    The new one takes the old one's place (that of a symlink's target) when the block ends well, and is gone
    otherwise; ``ready`` is called right before, with its path until then. Devices and pipes are written
    directly.
    """
    try:
        path = Path(os.path.realpath(path))
        if path.is_dir():
            raise UsageError(f"{path} is a folder")
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                yield device, None
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        has_old = keep and path.exists() and path.stat().st_size > 0
        with path.open("rb") if has_old else nullcontext() as old, _temporary_file(path, ready) as out:
            yield out, old
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def _temporary_file(path: Path, ready: Callable[[Path], None]) -> Iterator[BinaryIO]:
    # Short, whatever the length of the name beside it.
    part = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with part.open("xb", buffering=1 << 17) as out:
            if path.exists():
                part.chmod(path.stat().st_mode & 0o777)
            yield out
            out.flush()
            os.fsync(out.fileno())
        ready(part)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def copy_bytes(old: BinaryIO, out: BinaryIO, end: int | None = None) -> None:
    """Copy an old file from its start up to a position (or its end)."""
    old.seek(0, os.SEEK_END)
    left = old.tell() if end is None else end
    old.seek(0)
    while left > 0 and (chunk := old.read(min(left, 1 << 20))):
        out.write(chunk)
        left -= len(chunk)


def read_tail(old: BinaryIO, size: int = 1 << 16) -> tuple[bytes, int]:
    """The last bytes of a file, and the position where they begin."""
    end = old.seek(0, os.SEEK_END)
    begin = old.seek(max(0, end - size))
    return old.read(), begin
