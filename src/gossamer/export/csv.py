"""CSV by RFC 4180, in UTF-8 without a byte order mark, with a header.

The columns are the fields of all items in the order they were first seen, which is known only after the
last item; until then the items wait in a temporary file. A file that is continued keeps its columns, and
gets more behind them where there are new fields. Text is written exactly; lists and dicts are JSON,
booleans ``true`` and ``false``; absent fields and nulls are empty cells.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import msgspec

from gossamer.core.errors import UsageError
from gossamer.export.buffer import ItemBuffer
from gossamer.export.files import copy_bytes, read_tail

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters of a formula in spreadsheets (OWASP, CSV injection); the last four are wide forms."""

MAX_HEADER_BYTES = 1 << 20


class CsvWriter:
    """Writes ``.csv``. Appending keeps the columns of the file; new fields become columns behind them."""

    def __init__(
        self,
        out: BinaryIO,
        old: BinaryIO | None,
        place: str,
        *,
        fields: Sequence[str] = (),
        safe: bool = False,
    ) -> None:
        self._out = out
        self._old = old
        self._safe = safe
        self._had = [] if old is None else read_header(old, place)
        self._items = ItemBuffer([*self._had, *map(self._escape_formula, fields)])

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item. Raises :class:`UnfitItemError` for one without fields."""
        if self._safe:
            data = {self._escape_formula(name): value for name, value in data.items()}
        self._items.add_item(data)

    def write_end(self) -> None:
        """Write the header, the file's old content, and the items that waited for it."""
        columns = list(self._items.columns)
        if self._old is None:
            if columns:
                self._out.write(self._encode_row(columns))
        elif columns == self._had:
            copy_bytes(self._old, self._out)
            if not read_tail(self._old, 1)[0].endswith(b"\n"):
                self._out.write(b"\r\n")
        else:
            self._add_columns(self._old, columns)
        for data in self._items.read_items():
            self._out.write(self._encode_row([data.get(name) for name in columns]))

    def _add_columns(self, old: BinaryIO, columns: list[str]) -> None:
        """Copy the file with more columns: to each row as it stands as many empty cells are added."""
        more = self._encode_row(columns[len(self._had) :]).decode()
        for number, (row, text) in enumerate(_read_rows(old)):
            line = text.rstrip("\r\n")
            if number == 0:
                line = f"{line},{more}"
            elif row:
                line += "," * (len(columns) - len(row)) + "\r\n"
            else:
                line = text
            self._out.write(line.encode("utf-8", "surrogateescape"))

    def close(self) -> None:
        """Let go of the temporary file."""
        self._items.close()

    def _encode_row(self, values: list[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerow([self._encode_cell(value) for value in values])
        return text.getvalue().encode()

    def _encode_cell(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._escape_formula(value)
        if value is None:
            return ""
        return msgspec.json.encode(value).decode()

    def _escape_formula(self, text: str) -> str:
        return f"'{text}" if self._safe and text.startswith(FORMULA_STARTS) else text


def read_header(old: BinaryIO, place: str) -> list[str]:
    """Return the columns of a file to append to. Raises :class:`UsageError` if it has no header."""
    old.seek(0)
    start = old.read(MAX_HEADER_BYTES).decode("utf-8-sig", "replace")
    try:
        names = next(csv.reader(io.StringIO(start, newline="")), [])
    except csv.Error as error:
        raise UsageError(f"{place} has no readable header: {error}") from None
    if not names or len(set(names)) < len(names):
        raise UsageError(f"{place} has no header with distinct names to append to")
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        raise UsageError(
            f"{place}: its columns are not separated by commas; overwrite it or choose another file"
        )
    return names


def _read_rows(old: BinaryIO) -> Iterator[tuple[list[str], str]]:
    """Yield the rows of a file, each with its text as it stands there."""
    old.seek(0)
    text = io.TextIOWrapper(old, "utf-8", "surrogateescape", newline="")
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            taken.append(line)
            yield line

    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in csv.reader(lines()):
            yield row, "".join(taken)
            taken.clear()
    finally:
        csv.field_size_limit(limit)
        text.detach()
