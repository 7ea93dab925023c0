"""SQLite's errors in words for the person who has to mend them.

Guarantee: no ``sqlite3`` exception leaves ``gossamer.drivers.sqlite``; it becomes a
:class:`~gossamer.core.errors.StorageError` that says what happened, to which file, and suggests a fix.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from gossamer.core.errors import StorageError
from gossamer.drivers.sqlite.writer import writer_of

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_OTHER_LAYOUT = ("no such table", "no such column")
_OTHER_VERSION = (
    "written by a development version of Gossamer with other tables, which this one cannot read; "
    "use another --data directory"
)
_WAYS_OUT = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and start again: stored data is intact",
    sqlite3.SQLITE_READONLY: "the file is read-only; make it and its directory writable",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; keep a copy, then: sqlite3 FILE .recover | sqlite3 NEW",
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database; move it away or name another one",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that its directory exists and may be written",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; check the system's log and the mount",
    sqlite3.SQLITE_PERM: "access was refused; check the owner and the mode of the file",
    sqlite3.SQLITE_INTERRUPT: "the question took too long and was stopped; ask for less",
    sqlite3.SQLITE_NOLFS: "the file system cannot hold files of this size",
}


def translate_error(error: sqlite3.Error, path: Path) -> StorageError:
    """Return the storage error that ``error`` means for the database at ``path``."""
    code = getattr(error, "sqlite_errorcode", None)  # absent on errors that the Python layer raises
    way_out = _WAYS_OUT.get(code & 0xFF) if code is not None else None
    if code is not None and code & 0xFF in _LOCKED:
        way_out = describe_lock(path)
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(_OTHER_LAYOUT):
        way_out = _OTHER_VERSION
    if way_out is None:
        return StorageError(f"{path}: {error}")
    return StorageError(f"{path}: {way_out} (SQLite says: {error})")


def describe_lock(path: Path) -> str:
    """Describe the process that keeps a file locked, and the fix."""
    writer = writer_of(path)
    if writer is None:
        return "another process keeps the file locked; stop it, or use another --data directory"
    if writer == os.getpid():
        return "this process keeps the file locked itself, by another connection; close that one"
    if _is_of_a_crawl(writer):
        return (
            f"process {writer} of a crawl keeps the file locked and does not continue (stopped, or its "
            "disk does not answer); start the same command again: stored data is intact"
        )
    return f"process {writer} keeps the file locked; stop it, or use another --data directory"


def _is_of_a_crawl(process: int) -> bool:
    """Whether a process was started by a crawl, ours or another one, and ends with it."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    is_our_child = int(status.rpartition(")")[2].split()[1]) == os.getpid()
    return is_our_child or b"gossamer.crawl.processes.member" in command
