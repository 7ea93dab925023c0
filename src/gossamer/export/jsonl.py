"""JSON Lines: one item per line, in UTF-8."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import msgspec

from gossamer.export.files import copy_bytes

_encode = msgspec.json.Encoder().encode


class JsonlWriter:
    """Writes ``.jsonl``. If a file ends within a record (a crash cut it), that record is left out."""

    def __init__(self, out: BinaryIO, old: BinaryIO | None, place: str) -> None:
        self._write = out.write
        if old is not None:
            last = _last_line(old)
            copy_bytes(
                old, out, end=None if not last or _is_json(last) else old.seek(0, os.SEEK_END) - len(last)
            )
            if last and _is_json(last):
                out.write(b"\n")

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item."""
        self._write(_encode(data) + b"\n")

    def write_end(self) -> None:
        """Nothing comes after the last item."""

    def close(self) -> None:
        """Nothing is held."""


def _last_line(old: BinaryIO, step: int = 1 << 16) -> bytes:
    """Return everything after the last line end, searched from the back."""
    line = b""
    position = old.seek(0, os.SEEK_END)
    while position > 0:
        size = min(step, position)
        position = old.seek(position - size)
        chunk = old.read(size)
        newline = chunk.rfind(b"\n")
        line = chunk[newline + 1 :] + line
        if newline >= 0:
            break
        step *= 2
    return line


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
