"""Items appended to a file as they change, as JSON Lines."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import msgspec

from gossamer.core.changes import ChangedItem
from gossamer.core.errors import StorageError
from gossamer.outputs.lines import LINE_START, lines_of

MARK_BYTES = 8
LOCK_S, LOCK_PAUSE_S = 10.0, 0.05
"""How long another process is waited for that has locked the file, and how often it is looked at."""
BLOCK_BYTES = 1 << 16


class FileState(msgspec.Struct, frozen=True):
    """The state of the file before a batch."""

    length: int
    marks: bytes = b""  # of the lines that the batch has when it is planned, by which its rest is known


class FileOutput:
    """An ``ItemOutput`` that appends to a local file; other programs may append as well.

    The file's content stays, except for the rest of a batch that a killed process has left: that is cut off
    before the batch is written again. If another program has appended since, the missing lines follow
    instead. A file that is gone was moved away: a new one begins.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"<FileOutput {self._path}>"

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        try:
            length = self._path.stat().st_size
        except FileNotFoundError:
            length = 0
        except OSError as error:
            raise self._trouble(error) from error
        marks = await asyncio.to_thread(lambda: b"".join(map(_mark_of, lines_of(items))))
        return msgspec.json.encode(FileState(length, marks))

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        planned = msgspec.json.decode(state, type=FileState)
        try:
            await asyncio.to_thread(self._append, list(lines_of(items)), planned)
        except OSError as error:
            raise self._trouble(error) from error
        return b""  # writes of other programs are not known before the next batch

    def _append(self, lines: list[bytes], planned: FileState) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._open_alone() as file:
            lines = _cut_rest(file, lines, planned)
            file.seek(0, os.SEEK_END)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())

    def _open_alone(self) -> BinaryIO:
        """Return the file, which no other process writes until it is closed."""
        while True:
            file = self._path.open("a+b")
            try:
                self._lock(file)
                if os.path.samestat(os.fstat(file.fileno()), self._path.stat()):
                    return file
            except FileNotFoundError:
                pass
            except BlockingIOError:
                file.close()
                raise
            file.close()  # it was moved away meanwhile

    def _lock(self, file: BinaryIO) -> None:
        patient_until = time.monotonic() + LOCK_S
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:  # by a process that writes, or that was stopped while it did
                if time.monotonic() >= patient_until:
                    raise BlockingIOError(error.errno, "another process keeps it locked") from error
            time.sleep(LOCK_PAUSE_S)

    def _trouble(self, error: OSError) -> StorageError:
        return StorageError(f"{self._path} cannot be written ({error.strerror})")

    async def close(self) -> None:
        """Nothing is held."""


def _mark_of(line: bytes) -> bytes:
    return blake2b(line, digest_size=MARK_BYTES).digest()


def _cut_rest(file: BinaryIO, lines: list[bytes], planned: FileState) -> list[bytes]:
    """Return the lines still to write; cut off the lines of a killed process if they are at the end."""
    _mend_end(file)
    length = file.seek(0, os.SEEK_END)
    begin = planned.length if planned.length <= length else 0  # it is another file by now
    marks = {planned.marks[at : at + MARK_BYTES] for at in range(0, len(planned.marks), MARK_BYTES)}
    file.seek(begin)
    found = {_mark_of(line) for line in file}
    if found <= marks:
        file.truncate(begin)
        return lines
    return [line for line in lines if _mark_of(line) not in found]


def _mend_end(file: BinaryIO) -> None:
    """Cut off a partial line of a killed process; complete a line of another program that has no end."""
    begin = length = file.seek(0, os.SEEK_END)
    last = b""
    while begin and b"\n" not in last:
        begin = max(length - 2 * len(last) - BLOCK_BYTES, 0)
        file.seek(begin)
        last = file.read(length - begin)
    last = last.rpartition(b"\n")[2]
    if not last:
        return
    try:
        msgspec.json.decode(last, type=msgspec.Raw)
        is_rest = False
    except msgspec.DecodeError:
        is_rest = last.startswith(LINE_START) or LINE_START.startswith(last)
    if is_rest:
        file.truncate(length - len(last))
    else:
        file.write(b"\n")
