"""Sorting any number of records: in memory as long as they are few, with temporary files beyond that."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any, Generic, TypeVar

import msgspec

from gossamer.core.errors import StorageError

MEMORY_BYTES = 64 << 20
"""Bytes of records, as JSON, that are sorted in memory; more go to a file."""
MOST_FILES = 64
"""Files that are open at once; this many are merged into one."""

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class RecordSorter(Generic[T]):
    """Takes records in any order and gives them in that of their places; those of one place as they came.

    Records are msgspec structs that JSON can carry. Close it, for its temporary files.
    """

    def __init__(self, kind: type[T], place_of: Callable[[T], Any]) -> None:
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(kind).decode
        self._place_of = place_of
        self._held: list[tuple[Any, bytes]] = []  # place and record
        self._held_bytes = 0
        self._files: list[IO[bytes]] = []

    def add_record(self, record: T) -> None:
        """Add a record. Raises ``StorageError`` if there is no room for temporary files."""
        line = _encode(record) + b"\n"
        self._held.append((self._place_of(record), line))
        self._held_bytes += len(line)
        if self._held_bytes >= MEMORY_BYTES:
            self._spill(self._take_held())

    def read_records(self) -> Iterator[T]:
        """Yield all records in order, once."""
        return map(self._decode, self._merge_files(self._take_held()))

    def close(self) -> None:
        """Delete the temporary files. Idempotent."""
        for file in self._files:
            file.close()

    def _take_held(self) -> list[bytes]:
        held, self._held, self._held_bytes = self._held, [], 0
        return [line for _, line in sorted(held, key=lambda pair: pair[0])]

    def _merge_files(self, last: Iterable[bytes] = ()) -> Iterator[bytes]:
        """Yield the lines of all files; lines of the same place in the order of the files."""
        return heapq.merge(*self._files, last, key=lambda line: self._place_of(self._decode(line)))

    def _spill(self, lines: Iterable[bytes]) -> None:
        self._files.append(_write_file(lines))
        if len(self._files) == MOST_FILES:
            merged = _write_file(self._merge_files())
            self.close()
            self._files = [merged]


def _write_file(lines: Iterable[bytes]) -> IO[bytes]:
    """Write a temporary file; return it at its beginning."""
    try:
        file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - until the sorter is closed
        try:
            file.writelines(lines)
            file.seek(0)
        except BaseException:
            file.close()
            raise
    except OSError as error:
        raise StorageError(f"a temporary file cannot be written ({error.strerror})") from error
    return file
