"""Apache Parquet, in row groups of at most 10,000 items, compressed with zstd.

A column holds booleans, whole numbers (64 bits), numbers, text, or lists of one of these, if all of its
values do. If they differ, or are objects, the column is text that holds each value as JSON, and its metadata
say so (``gossamer: json``). Nothing is lost: whole numbers beyond 64 bits become JSON as well. An absent
field is null. Types are known only after the last item: until then the items wait in a temporary file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.core.errors import UsageError
from gossamer.export.buffer import ItemBuffer

GROUP_ROWS = 10_000
GROUP_BYTES = 8 << 20
"""Most JSON of one row group: it is in memory as a whole, several times over."""

EXACT = 1 << 53
"""Whole numbers up to this size are the same as floating-point numbers."""

IN_64_BITS = range(-(1 << 63), 1 << 63)
AS_JSON = {b"gossamer": b"json"}

_encode = msgspec.json.Encoder().encode


class ColumnType:
    """The type of a column's values so far."""

    __slots__ = ("elements", "is_exact", "is_long", "kinds")

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.is_exact = True  # whether its whole numbers are the same as floating-point numbers
        self.is_long = False  # whether one of them has more than 64 bits
        self.elements: ColumnType | None = None  # of its lists

    def note_value(self, value: Any) -> None:
        """Take a value into account."""
        kind = type(value)
        if value is None:
            return
        self.kinds.add(kind)
        if kind is int:
            self.is_exact = self.is_exact and -EXACT <= value <= EXACT
            self.is_long = self.is_long or value not in IN_64_BITS
        elif kind is list:
            self.elements = self.elements or ColumnType()
            for element in value:
                self.elements.note_value(element)

    def to_arrow(self) -> pa.DataType | None:
        """Return the type of the column; ``None``: its values are written as JSON."""
        if self.kinds == {list}:
            assert self.elements is not None
            inner = None if list in self.elements.kinds else self.elements.to_arrow()
            return None if inner is None else pa.list_(inner)
        if self.kinds == {bool}:
            return pa.bool_()
        if self.kinds == {int} and not self.is_long:
            return pa.int64()
        if self.kinds in ({float}, {int, float}) and self.is_exact:
            return pa.float64()
        return pa.string() if self.kinds <= {str} else None


class ParquetWriter:
    """Writes ``.parquet``. A file cannot be continued."""

    def __init__(
        self, out: BinaryIO, old: BinaryIO | None, place: str, *, fields: Sequence[str] = ()
    ) -> None:
        if old is not None:
            raise UsageError(f"{place}: parquet files cannot be continued")
        self._out = out
        self._items = ItemBuffer(fields)
        self._types: defaultdict[str, ColumnType] = defaultdict(ColumnType)

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item. Raises :class:`UnfitItemError` for one without fields, or too many of them."""
        self._items.add_item(data)
        for name, value in data.items():
            self._types[name].note_value(value)

    def write_end(self) -> None:
        """Write all items that waited."""
        types = {name: self._types[name].to_arrow() for name in self._items.columns}
        schema = pa.schema(
            [
                pa.field(name, pa.string(), metadata=AS_JSON) if kind is None else pa.field(name, kind)
                for name, kind in types.items()
            ]
        )
        as_json = {name for name, kind in types.items() if kind is None}
        with pq.ParquetWriter(self._out, schema, compression="zstd") as file:
            for rows in _group_rows(self._items.read_sized()):
                columns = [
                    pa.array(_column_of(rows, field.name, is_json=field.name in as_json), field.type)
                    for field in schema
                ]
                file.write_table(pa.Table.from_arrays(columns, schema=schema))

    def close(self) -> None:
        """Let go of the temporary file."""
        self._items.close()


def _column_of(rows: Sequence[dict[str, Any]], name: str, *, is_json: bool) -> list[Any]:
    values = [row.get(name) for row in rows]
    if not is_json:
        return values
    return [None if value is None else _encode(value).decode() for value in values]


def _group_rows(items: Iterable[tuple[dict[str, Any], int]]) -> Iterator[list[dict[str, Any]]]:
    """Yield items in row groups."""
    rows: list[dict[str, Any]] = []
    taken = 0
    for data, size in items:
        rows.append(data)
        taken += size
        if len(rows) == GROUP_ROWS or taken >= GROUP_BYTES:
            yield rows
            rows, taken = [], 0
    if rows:
        yield rows
