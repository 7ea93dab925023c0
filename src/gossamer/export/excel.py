"""Excel workbooks (``.xlsx``), with a header in the first row of each sheet.

Texts are text cells, never formulas, links or numbers. Whole numbers that Excel would round, lists and
objects are text cells that hold JSON; absent fields and nulls are empty cells. Items beyond Excel's limits
are refused one by one: a text of more than 32,767 characters, or a field in column 16,385. After 1,048,575
items a further sheet begins. Columns are known only after the last item: until then the items wait in a
temporary file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import msgspec
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.worksheet import Worksheet

from gossamer.core.errors import UsageError
from gossamer.export.buffer import ItemBuffer
from gossamer.export.writer import UnfitItemError

# https://support.microsoft.com/office/excel-specifications-and-limits
MAX_ROWS = 1_048_576
MAX_TEXT = 32_767
"""UTF-16 units of a cell."""
EXACT = 1 << 53
"""Whole numbers up to this size are exact as floating-point numbers, the only ones in Excel."""

Cell = str | float | bool | None
"""The types of a cell."""


class ExcelTable(Worksheet):  # type: ignore[misc]
    """A sheet that writes values unchanged: XlsxWriter rounds numbers, and takes text for its own XML."""

    def _xml_number_element(self, number: float, attributes: Sequence[tuple[str, Any]] = ()) -> None:
        """With all digits; XlsxWriter writes 16 of 17."""
        named = "".join(f' {name}="{value}"' for name, value in attributes)
        self.fh.write(f"<c{named}><v>{number!r}</v></c>")

    def _xml_rich_inline_string(self, string: str, attributes: Sequence[tuple[str, Any]] = ()) -> None:
        """Text of a page that begins with <r> and ends with </r> is text, not markup of this file."""
        self._xml_inline_string(string, True, attributes)


class WorkbookFile:
    """The file as XlsxWriter gets it, which raises an error of the disk once.

    After that it accepts any call: the archive within is closed by its destructor, and an error there cannot
    be caught.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._place: int | None = None  # after an error, where the next byte would be

    def write(self, data: bytes) -> int:
        """See ``io``."""
        if self._place is None:
            with self._breaking():
                return self._out.write(data)
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        """See ``io``."""
        return self._out.tell() if self._place is None else self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        """See ``io``."""
        if self._place is None:
            with self._breaking():
                return self._out.seek(offset, whence)
        self._place = offset
        return offset

    def flush(self) -> None:
        """See ``io``."""
        if self._place is None:
            with self._breaking():
                self._out.flush()

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._place = 1 << 40  # behind all that there is
            raise


class ExcelWriter:
    """Writes ``.xlsx``. A file cannot be continued."""

    def __init__(
        self, out: BinaryIO, old: BinaryIO | None, place: str, *, fields: Sequence[str] = ()
    ) -> None:
        if old is not None:
            raise UsageError(f"{place}: excel files cannot be continued")
        self._out = out
        self._items = ItemBuffer(fields)

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item. Raises :class:`UnfitItemError` for one that Excel has no room for."""
        for name, value in data.items():
            _check_text(name, name)
            _check_text(name, _cell_of(value))
        self._items.add_item(data)

    def write_end(self) -> None:
        """Write all items that waited."""
        with tempfile.TemporaryDirectory() as folder:
            book = Workbook(WorkbookFile(self._out), {"constant_memory": True, "tmpdir": folder})
            book.use_zip64()  # a file of more than 4 GB; smaller ones are the same with it
            try:
                self._write_sheets(book)
                book.close()
            except FileCreateError as error:  # it has only a text about the failure
                raise _cause_of(error) from None
            finally:
                book.fileclosed = True  # or its end would try to write it once more

    def _write_sheets(self, book: Workbook) -> None:
        columns = list(self._items.columns)
        number, row = 1, 0
        sheet = _add_sheet(book, columns, number)
        for data in self._items.read_items():
            row += 1
            if row == MAX_ROWS:
                number, row = number + 1, 1
                sheet = _add_sheet(book, columns, number)
            for column, name in enumerate(columns):
                _write_cell(sheet, row, column, _cell_of(data.get(name)))

    def close(self) -> None:
        """Let go of the temporary file."""
        self._items.close()


def _cause_of(error: FileCreateError) -> OSError:
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError):
            return found
        given = found.args[0] if found.args else None
        found = given if isinstance(given, BaseException) else found.__cause__ or found.__context__
    return OSError(str(error))


def _add_sheet(book: Workbook, columns: Sequence[str], number: int) -> ExcelTable:
    sheet: ExcelTable = book.add_worksheet("Items" if number == 1 else f"Items {number}", ExcelTable)
    sheet.freeze_panes(1, 0)
    for column, name in enumerate(columns):
        sheet.write_string(0, column, name)
    return sheet


def _write_cell(sheet: ExcelTable, row: int, column: int, cell: Cell) -> None:
    if isinstance(cell, bool):
        sheet.write_boolean(row, column, cell)
    elif isinstance(cell, str):
        sheet.write_string(row, column, cell)
    elif cell is not None:
        sheet.write_number(row, column, cell)


def _cell_of(value: Any) -> Cell:
    """Return a value as a cell: itself, or its JSON."""
    if value is None or isinstance(value, str | float | bool):
        return value
    if isinstance(value, int) and -EXACT <= value <= EXACT:
        return value
    return msgspec.json.encode(value).decode()


def _check_text(name: str, cell: Cell) -> None:
    if not isinstance(cell, str) or len(cell) * 2 <= MAX_TEXT:
        return
    length = len(cell) + sum(sign > "\uffff" for sign in cell)
    if length > MAX_TEXT:
        raise UnfitItemError(
            f"its field {name[:80]!r} has {length:,} characters, and a cell of Excel holds {MAX_TEXT:,}"
        )
