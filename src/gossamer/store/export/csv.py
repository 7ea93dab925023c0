"""CSV by RFC 4180, in UTF-8 without a byte order mark, with a header.

The columns are the fields of all items in the order they were first seen, which is known only after the
last item; until then the items wait in a temporary file. Text is written exactly; lists and dicts are
JSON, booleans ``true`` and ``false``; absent fields and nulls are empty cells.
"""

from __future__ import annotations

import csv
import io
import tempfile
from typing import IO, Any, BinaryIO

import msgspec

from gossamer.store.export.files import copy, tail
from gossamer.words.errors import UsageError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes spreadsheet programs run a cell (OWASP, CSV injection); the last four are wide forms."""

SPOOL_BYTES = 1 << 20
"""Items up to this size wait in memory."""

MAX_HEADER_BYTES = 1 << 20


class CsvWriter:
    """Writes ``.csv``. Appending keeps the header of the file, so items must not have other fields."""

    def __init__(self, out: BinaryIO, old: BinaryIO | None, place: str, *, safe: bool = False) -> None:
        self._out = out
        self._safe = safe
        self._place = place
        self._columns: dict[str, None] = {}
        self._spool: IO[bytes] | None = None
        if old is None:
            self._spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - see close
            return
        self._columns = dict.fromkeys(_header(old, place))
        copy(old, out)
        if not tail(old, 1)[0].endswith(b"\n"):
            out.write(b"\r\n")

    def write(self, data: dict[str, Any]) -> None:
        """Add one item."""
        if self._spool is None:
            self._append(data)
        else:
            self._columns.update(dict.fromkeys(data))
            self._spool.write(msgspec.json.encode(data) + b"\n")

    def _append(self, data: dict[str, Any]) -> None:
        cells = {self._text(name): value for name, value in data.items()}
        others = [name for name in cells if name not in self._columns]
        if others:
            raise UsageError(
                f"{self._place} has no column for {', '.join(map(repr, others))}; its columns are "
                f"{', '.join(self._columns)}: overwrite it or choose another file"
            )
        self._out.write(self._row([cells.get(name) for name in self._columns]))

    def finish(self) -> None:
        """Write the header and the items that waited for it."""
        if self._spool is None or not self._columns:
            return
        self._out.write(self._row(list(self._columns)))
        self._spool.seek(0)
        for line in self._spool:
            data = msgspec.json.decode(line)
            self._out.write(self._row([data.get(name) for name in self._columns]))

    def close(self) -> None:
        """Let go of the temporary file."""
        if self._spool is not None:
            self._spool.close()

    def _row(self, values: list[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerow([self._cell(value) for value in values])
        return text.getvalue().encode()

    def _cell(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None:
            return ""
        return msgspec.json.encode(value).decode()

    def _text(self, text: str) -> str:
        return f"'{text}" if self._safe and text.startswith(FORMULA_STARTS) else text


def _header(old: BinaryIO, place: str) -> list[str]:
    old.seek(0)
    start = old.read(MAX_HEADER_BYTES).decode("utf-8-sig", "replace")
    try:
        names = next(csv.reader(io.StringIO(start, newline="")), [])
    except csv.Error as error:
        raise UsageError(f"{place} has no readable header: {error}") from None
    if not names or len(set(names)) < len(names):
        raise UsageError(f"{place} has no header with distinct names to append to")
    return names
