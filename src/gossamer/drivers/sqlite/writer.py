"""Finds the process that holds the write lock of an SQLite file.

It reads ``/proc/locks`` rather than the file: a process that opens and closes a locked file loses its own
locks on it. Without that list (not Linux) the process is unknown.
"""

from __future__ import annotations

from pathlib import Path

WAL_WRITE_LOCK = 120
"""The byte of ``FILE-shm`` that a writer locks. From SQLite's file format (WAL-mode locking)."""
RESERVED_LOCK = 0x40000001
"""The byte of the file itself that a writer locks while there is no write-ahead log."""


def writer_of(path: Path | str, locks: Path | str = "/proc/locks") -> int | None:
    """Return the id of the process that may write to the file now; ``None`` if none is known."""
    try:
        lines = Path(locks).read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    wanted = ((_inode_of(f"{path}-shm"), WAL_WRITE_LOCK), (_inode_of(path), RESERVED_LOCK))
    for line in lines:
        fields = line.split()
        if "->" in fields or fields[1:2] != ["POSIX"] or fields[3:4] != ["WRITE"]:  # "->": it only waits
            continue
        owner, place, first, last = fields[4:8]
        inode = int(place.rpartition(":")[2])
        end = float(last) if last.isdigit() else float("inf")
        if any(inode == ours and int(first) <= byte <= end for ours, byte in wanted):
            return int(owner)
    return None


def _inode_of(path: Path | str) -> int | None:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return None
