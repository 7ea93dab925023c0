"""Items that wait in a temporary file until all columns are known."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import msgspec

from gossamer.export.writer import UnfitItemError

MEMORY_BYTES = 1 << 20
"""Items up to this size wait in memory."""
MAX_COLUMNS = 16_384
"""As many as a sheet of Excel has: a table takes items times columns, and pages may name the fields."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ItemBuffer:
    """The items of a table, and its columns in the order in which they were first seen."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.columns = dict.fromkeys(columns)
        self._has_names = bool(columns)
        self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - see close

    def add_item(self, data: dict[str, Any]) -> None:
        """Keep an item, and its fields as columns.

        Raises :class:`UnfitItemError` for one that would make too many columns, and for one without fields,
        unless columns were named: of other items it may be an empty row, but not where all are so, which is
        known too late.
        """
        if not data and not self._has_names:
            raise UnfitItemError("it has no fields, and a table has no rows without columns")
        new = sum(name not in self.columns for name in data)
        if new and len(self.columns) + new > MAX_COLUMNS:
            raise UnfitItemError(
                f"its fields are more than the {MAX_COLUMNS:,} columns of a table; jsonl takes any number"
            )
        self.columns.update(dict.fromkeys(data))
        self._spool.write(_encode(data) + b"\n")

    def read_items(self) -> Iterator[dict[str, Any]]:
        """Return all items, in their order."""
        return (data for data, _ in self.read_sized())

    def read_sized(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the same with the bytes that each takes as JSON."""
        self._spool.seek(0)
        for line in self._spool:
            yield _decode(line), len(line)

    def close(self) -> None:
        """Let go of the temporary file."""
        self._spool.close()
