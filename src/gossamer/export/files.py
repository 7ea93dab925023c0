"""Replacing a file as a whole: written beside it, flushed to the disk, renamed over it."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from gossamer.core.errors import FileChangedError, StorageError, UsageError


@contextmanager
def replace_file(
    path: Path, *, keep: bool, ready: Callable[[Path], None] = lambda part: None
) -> Iterator[tuple[BinaryIO, BinaryIO | None]]:
    """Open a new file to write, and the old one to copy from (``keep``, when it has content).

    The new file replaces the old one (or a symlink's target) when the block succeeds, and is deleted
    otherwise; ``ready`` is called right before, with its path until then. Devices and pipes are written
    directly. Raises :class:`StorageError`; ``FileChangedError`` if the old file is kept and another program
    has replaced it by then, since its changes would be lost.
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
        before = _state_of(path)
        has_old = keep and before is not None and before[2] > 0
        check = partial(_check_unchanged, path, before) if keep else _check_nothing
        with path.open("rb") if has_old else nullcontext() as old, _temporary_file(path, ready, check) as out:
            yield out, old
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def identity_of(path: Path) -> tuple[int, ...]:
    """Return a value that differs for every file and every change, and stays when the file is renamed.

    Raises ``OSError`` for a missing file.
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _state_of(path: Path) -> tuple[int, ...] | None:
    """Return the same; ``None``: none can be seen."""
    try:
        return identity_of(path)
    except OSError:
        return None


def _check_nothing() -> None:
    """It is replaced whatever it is."""


def _check_unchanged(path: Path, before: tuple[int, ...] | None) -> None:
    if _state_of(path) != before:
        raise FileChangedError(f"{path} was changed by another program while it was written")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other Gossamer processes from renaming files of this folder; only briefly: they wait."""
    place = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


@contextmanager
def _temporary_file(
    path: Path, ready: Callable[[Path], None], check: Callable[[], None]
) -> Iterator[BinaryIO]:
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
        with _locked(path.parent):
            check()
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
    """Return the last bytes of a file, and the position where they begin."""
    end = old.seek(0, os.SEEK_END)
    begin = old.seek(max(0, end - size))
    return old.read(), begin
