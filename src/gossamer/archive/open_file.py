"""The file of an archive that is being written: it grows by whole records, and is locked by its writer."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

OPEN = ".open"
"""Ends the name of a file that is being written, or whose writer was killed."""
NOTES = ".lines"
"""The suffix of the file beside it that holds index lines until the index is written."""


class OpenWarcFile:
    """A file that only this process writes to, until it is closed. Its methods raise ``OSError``."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        self.path = path
        if is_new:
            path.parent.mkdir(parents=True, exist_ok=True)
        kind = os.O_CREAT | os.O_EXCL if is_new else 0
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC | kind, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self._file).st_ino != path.stat().st_ino:
                raise FileNotFoundError(f"{path} is another file now")
        except BaseException:
            os.close(self._file)
            raise
        self.size = os.fstat(self._file).st_size
        self._notes = -1
        self._is_noted = is_new  # without a gap so far

    def __repr__(self) -> str:
        return f"<OpenWarcFile {self.path.name} of {self.size:,} bytes>"

    def append_bytes(self, data: bytes) -> None:
        """All of it or nothing."""
        view, written = memoryview(data), 0
        try:
            while written < len(view):
                written += os.pwrite(self._file, view[written:], self.size + written)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise
        self.size += len(data)

    def note_lines(self, lines: Sequence[str]) -> None:
        """Append index lines to the file beside it. Never raises: these lines only save readers time."""
        if not self._is_noted:
            return
        try:
            if self._notes < 0:
                kind = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
                self._notes = os.open(notes_of(self.path), kind, 0o644)
            data = "\n".join([*lines, ""]).encode()
            self._is_noted = os.write(self._notes, data) == len(data)
        except OSError:
            self._is_noted = False  # readers scan the file after the last line

    def delete(self) -> None:
        """Remove the file and its index lines."""
        self.path.unlink(missing_ok=True)
        self._delete_notes()

    def cut_at(self, size: int) -> None:
        """Cut off everything after the last whole record."""
        os.ftruncate(self._file, size)
        self.size = size

    def sync(self) -> None:
        """Make the written bytes durable."""
        os.fsync(self._file)

    def rename_to(self, path: Path) -> None:
        """Give the file its final name, and remove its index lines: the index replaces them."""
        self.path.replace(path)
        self._delete_notes()
        self.path = path

    def close(self) -> None:
        """Let others have it. Idempotent."""
        for file in (self._file, self._notes):
            if file >= 0:
                os.close(file)
        self._file = self._notes = -1

    def _delete_notes(self) -> None:
        with suppress(OSError):
            notes_of(self.path).unlink(missing_ok=True)


def notes_of(path: Path) -> Path:
    """Return the file beside one that is being written."""
    return path.with_name(path.name + NOTES)
