"""Reads an archive file from front to end: its index lines, and the end of its last whole record.

A file whose writer was killed may end in the middle of a record; all records before that are whole.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from gossamer.archive import cdxj
from gossamer.archive.warc import entry_of, read_record
from gossamer.core.archive import ArchiveLocation

PIECE_BYTES = 1024 * 1024


class WarcFileReader:
    """Takes the bytes of a file, whose name will be ``name``, in pieces of any size, from ``start`` on."""

    def __init__(self, name: str, start: int = 0) -> None:
        self._name = name
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._content: list[bytes] = []
        self._length = 0  # of the member, as far as it has come
        self.lines: list[str] = []  # of an index, in the order of the file
        self.whole_bytes = start  # up to the end of the last whole record
        self.is_broken = False  # the rest of the file is ignored

    def __repr__(self) -> str:
        return f"<WarcFileReader of {self._name}: {len(self.lines)} answers>"

    def feed_piece(self, piece: bytes) -> None:
        """Take the next bytes."""
        while piece and not self.is_broken:
            try:
                self._content.append(self._member.decompress(piece))
            except zlib.error:
                self.is_broken = True
                return
            rest = self._member.unused_data
            self._length += len(piece) - len(rest)
            if self._member.eof:
                self._end_member()
            piece = rest

    def _end_member(self) -> None:
        location = ArchiveLocation(file=self._name, offset=self.whole_bytes, length=self._length)
        try:
            record = read_record(b"".join(self._content))
            entry = entry_of(record, location)
        except (KeyError, ValueError):
            self.is_broken = True
            return
        if entry is not None:
            self.lines.append(cdxj.line_of(entry))
        self.whole_bytes += self._length
        self._member, self._content, self._length = zlib.decompressobj(zlib.MAX_WBITS | 16), [], 0


def scan_file(path: Path, name: str) -> WarcFileReader:
    """Read a whole file. Raises ``OSError``."""
    reader = WarcFileReader(name)
    with path.open("rb") as file:
        while not reader.is_broken and (piece := file.read(PIECE_BYTES)):
            reader.feed_piece(piece)
    return reader
