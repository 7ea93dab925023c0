"""The processes of browsers, and the folder for their files.

All browsers of a process keep their profiles and temporary files below one folder, and so do their driver
and helpers. The folder's name is in their command line or environment, which is how they are found and
killed by number. Its process holds a lock on the folder. A folder without a lock is left over from a killed
process; the next process that opens a folder removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PREFIX = "gossamer-browser-"
_LOCK = "lock"
_OF_DRIVER = b"PW_LANG_NAME=python"  # what Playwright gives to its driver
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BrowserProcess(NamedTuple):
    """One process of the operating system."""

    pid: int
    parent: int
    memory_bytes: int  # resident
    command: bytes  # its command line, with NUL between the words

    @property
    def is_renderer(self) -> bool:
        """Whether it shows pages."""
        return b"--type=renderer" in self.command or b"-isForBrowser" in self.command


def find_processes(folder: str) -> list[BrowserProcess]:
    """Return the processes whose command line or environment names ``folder``, and their descendants."""
    mark = os.fsencode(folder)
    everyone = list(_read_processes())
    found = {one.pid: one for one in everyone if mark in one.command or _has_environment(one.pid, mark)}
    is_growing = True
    while is_growing:
        more = {one.pid: one for one in everyone if one.parent in found and one.pid not in found}
        found.update(more)
        is_growing = bool(more)
    found.pop(os.getpid(), None)
    return list(found.values())


def kill_processes(folder: str) -> None:
    """Kill every process that belongs to ``folder``; some may be started while others are killed."""
    for _ in range(3):
        found = find_processes(folder)
        for process in found:
            with suppress(OSError):  # it ended meanwhile
                os.kill(process.pid, signal.SIGKILL)
        if not found:
            return


def _read_processes() -> Iterator[BrowserProcess]:
    """Processes of this user."""
    me = os.getuid()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != me:
                continue
            command = Path(entry.path, "cmdline").read_bytes()
            # The name in parentheses may hold anything, so the fields are counted from its end.
            fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if command:  # else it is a zombie, or the kernel's
            yield BrowserProcess(int(entry.name), int(fields[1]), int(fields[21]) * _PAGE_BYTES, command)


def _has_environment(pid: int, folder: bytes) -> bool:
    """Return whether a process is a driver, or a child of one, with its temporary files in ``folder``."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"TMPDIR=" + folder in variables and _OF_DRIVER in variables


class BrowserFolder:
    """A folder of this process for its browsers' files: profiles, sockets, downloads."""

    def __init__(self) -> None:
        remove_leftovers()
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
            lock = _lock_folder(self.path)
            if lock is not None:
                self._lock = lock
                return

    def __repr__(self) -> str:
        return f"<BrowserFolder {self.path}>"

    def remove(self) -> None:
        """Kill the folder's remaining processes, and remove it. Idempotent."""
        if self._lock < 0:
            return
        _clear_folder(self.path)
        os.close(self._lock)
        self._lock = -1


def remove_leftovers() -> None:
    """Remove the folders of processes that are gone, with the browsers that outlived them."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = None if path.is_symlink() else _lock_folder(str(path))
        if lock is not None:
            _clear_folder(str(path))
            os.close(lock)


def _lock_folder(path: str) -> int | None:
    """Lock the folder and return the descriptor; ``None`` if another process holds it, or it is gone."""
    try:
        file = os.open(Path(path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    if not Path(path, _LOCK).exists():  # removed as a leftover before it was locked
        os.close(file)
        return None
    return file


def _clear_folder(path: str) -> None:
    kill_processes(path)
    for _ in range(20):
        shutil.rmtree(path, ignore_errors=True)
        if not Path(path).exists():
            return
        kill_processes(path)  # one that was ending wrote a file meanwhile
