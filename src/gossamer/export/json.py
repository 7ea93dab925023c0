"""One JSON array of all items, one item per line, in UTF-8."""

from __future__ import annotations

from typing import Any, BinaryIO

import msgspec

from gossamer.core.errors import UsageError
from gossamer.export.files import copy_bytes, read_tail

_encode = msgspec.json.Encoder().encode


class JsonWriter:
    """Writes ``.json``. Appending continues the array that the file holds."""

    def __init__(self, out: BinaryIO, old: BinaryIO | None, place: str) -> None:
        self._write = out.write
        self._between = b"\n"
        if old is None:
            out.write(b"[")
        else:
            self._continue_array(out, old, place)

    def _continue_array(self, out: BinaryIO, old: BinaryIO, place: str) -> None:
        end = find_end(old, place)
        copy_bytes(old, out, end)
        old.seek(end - 1)
        if old.read(1) != b"[":
            self._between = b",\n"

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item."""
        self._write(self._between + _encode(data))
        self._between = b",\n"

    def write_end(self) -> None:
        """Close the array."""
        self._write(b"\n]\n")

    def close(self) -> None:
        """Nothing is held."""


def find_end(old: BinaryIO, place: str) -> int:
    """Return the end of the last element of a file's array. Raises :class:`UsageError` without an array."""
    old.seek(0)
    opens = old.read(1 << 16).lstrip().startswith(b"[")
    end, begin = read_tail(old)
    end = end.rstrip()
    if not (opens and end.endswith(b"]")):
        raise UsageError(
            f"{place} does not hold a JSON array to append to; overwrite it or choose another file"
        )
    return begin + len(end[:-1].rstrip())
