"""What is written comes back equal from every format, or is refused by name, alone."""

import csv
import errno
import gc
import gzip
import io
import json
import re
import reprlib
import xml.etree.ElementTree as ET

import openpyxl
import pyarrow.parquet as pq
import pytest
from backports import zstd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gossamer.core.jobs import StoredItem
from gossamer.export import write_items
from gossamer.export.fields import FieldChoice
from gossamer.export.formats import KINDS
from gossamer.testing.item_values import long_texts, stored_items

TABLES = ("csv", "parquet", "excel")


class Rows(list):
    """Data of items, told in short: some of them are megabytes."""

    def __repr__(self):
        return f"Rows({reprlib.repr(list(self))})"


datas = st.lists(stored_items().map(lambda item: item.data), max_size=4).map(Rows)
"""What a store gives back of any items that spiders may yield."""
LONG_DATAS = Rows({"a": "b", "text": text, "texts": [text]} for text in long_texts())


def stored(data, number=0):
    return StoredItem(
        type="Product", key=str(number), data=data, url="", first_seen=0.0, last_seen=0.0, changed_at=0.0
    )


async def written(kind, rows, **options):
    """The content of a file, and the items that were refused, each with the reason."""
    out, refused = io.BytesIO(), {}
    count = await write_items(
        [stored(data, number) for number, data in enumerate(rows)],
        out,
        kind,
        refuse=lambda item, why: refused.update({int(item.key): why}),
        **options,
    )
    assert count == len(rows) - len(refused)
    return out.getvalue(), refused


def cell_text(value):
    """A value where everything is text."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def is_same_cell(read, value):
    """Whether a text that was read is the value's: itself, or its JSON."""
    if isinstance(value, str) or value is None:
        return (read or "") == (value or "")
    return json.loads(read) == value and type(json.loads(read)) is type(value)


def read_lines(content):
    return [json.loads(line) for line in content.splitlines()]


def check_csv(content, rows):
    limit = csv.field_size_limit(1 << 30)
    try:
        found = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    finally:
        csv.field_size_limit(limit)
    assert len(found) == len(rows)
    for read, data in zip(found, rows, strict=True):
        assert all(is_same_cell(read[name], data.get(name)) for name in read)
        assert set(data) <= set(read)


def check_parquet(content, rows):
    table = pq.read_table(io.BytesIO(content))
    assert table.num_rows == len(rows)
    as_json = {field.name for field in table.schema if (field.metadata or {}).get(b"gossamer") == b"json"}
    columns = {
        name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)
    }
    for place, data in enumerate(rows):
        assert set(data) <= set(columns)
        for name, column in columns.items():
            value, read = data.get(name), column[place]
            if name in as_json and read is not None:
                read = json.loads(read)
                assert type(read) is type(value)
            assert read == value


def check_excel(content, rows):
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
    (sheet,) = book.worksheets
    header, *found = list(sheet.iter_rows(values_only=True)) or [()]
    names = [unescaped(name) or "" for name in header]
    for read, data in zip(found, rows, strict=False):
        cells = dict(zip(names, map(unescaped, read), strict=False))
        for name, value in data.items():
            cell = cells.get(name)
            if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) <= 1 << 53):
                assert cell == value
            else:
                assert is_same_cell(cell, value), (cell, value)
    assert len(found) <= len(rows)  # rows of empty cells at the end are not there
    assert not any(value not in (None, "") for data in rows[len(found) :] for value in data.values())
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)


def unescaped(cell):
    """Text as Excel shows it (ECMA-376, 22.4.2.4); openpyxl leaves that to its caller."""
    if not isinstance(cell, str):
        return cell
    return re.sub("_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), cell)


def check_xml(content, rows):
    root = ET.fromstring(content)
    assert len(root) == len(rows)
    for element, data in zip(root, rows, strict=True):
        check_fields(element, data)


def check_fields(element, data):
    names = []
    for field in element:
        name = field.get("name", field.tag)
        names.append(plain(name) if field.get("name-escapes") else name)
    assert names == list(data)
    for field, value in zip(element, data.values(), strict=True):
        check_value(field, value)


def check_value(element, value):
    if isinstance(value, dict):
        check_fields(element, value)
    elif isinstance(value, list):
        for inner, one in zip(element.findall("value"), value, strict=True):
            check_value(inner, one)
    else:
        text = element.text or ""
        assert is_same_cell(plain(text) if element.get("escapes") else text, value)


def plain(text):
    """Text with the escapes of JSON."""
    return re.sub(
        r"\\(?:u([0-9a-f]{4})|\\)", lambda found: chr(int(found[1], 16)) if found[1] else "\\", text
    )


CHECKS = {
    "jsonl": lambda content, rows: equal(read_lines(content), rows),
    "json": lambda content, rows: equal(json.loads(content), rows),
    "csv": check_csv,
    "xml": check_xml,
    "parquet": check_parquet,
    "excel": check_excel,
}


def equal(found, rows):
    assert found == rows
    assert [list(data) for data in found] == [list(data) for data in rows], "the order of fields"


def test_every_format_is_checked():
    assert set(CHECKS) == set(KINDS)


@pytest.mark.long
@pytest.mark.parametrize("kind", CHECKS)
@settings(suppress_health_check=list(HealthCheck))
@given(rows=datas)
@example(rows=LONG_DATAS)
async def test_any_value_comes_back_or_its_item_alone_is_refused(kind, rows):
    content, refused = await written(kind, rows)
    for place, why in refused.items():
        assert is_rightly_refused(kind, rows[place], why), why
    CHECKS[kind](content, [data for place, data in enumerate(rows) if place not in refused])


def is_rightly_refused(kind, data, why):
    """Only tables may refuse an item: one without fields, or of a field with no room, which is named."""
    if data == {}:
        return kind in TABLES and "no fields" in why
    return kind == "excel" and any(
        len(cell_text(value)) > 16_000 and repr(name) in why for name, value in data.items()
    )


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
async def test_compressed_files_hold_the_same(compression, tmp_path):
    rows = [{"a": n} for n in range(1000)]
    content, _ = await written("csv", rows, compression=compression)
    unpack = gzip.decompress if compression == "gzip" else zstd.decompress
    plain_content, _ = await written("csv", rows)
    assert unpack(content) == plain_content
    path = tmp_path / f"x.csv.{'gz' if compression == 'gzip' else 'zst'}"
    await write_items(map(stored, rows[:10]), path)
    await write_items(map(stored, [{"b": 1}]), path, append=True)
    check_csv(unpack(path.read_bytes()), [*rows[:10], {"b": 1}])


LONG = {"t": "x" * 32_768}
TOO_WIDE = {f"f{n}": 1 for n in range(16_385)}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (LONG, "its field 't' has 32,768 characters, and a cell of Excel holds 32,767"),
        ({"t": "\U0001f600" * 16_384}, "32,768 characters"),
        ({"t": ["y" * 32_768]}, "32,772 characters"),
        (TOO_WIDE, "more than the 16,384 columns"),
    ],
    ids=["text", "pairs", "json", "columns"],
)
async def test_what_excel_has_no_room_for_is_refused_alone(data, why):
    rows = [{"a": 1}, data, {"a": "x" * 32_767}]
    content, refused = await written("excel", rows)
    assert list(refused) == [1]
    assert why in refused[1]
    check_excel(content, [rows[0], rows[2]])


@pytest.mark.parametrize("kind", TABLES)
async def test_an_item_without_fields_is_no_row_of_a_table(kind):
    """A file of blank lines could neither be read back nor be continued."""
    content, refused = await written(kind, [{}, {"a": 1}])
    assert list(refused) == [0]
    CHECKS[kind](content, [{"a": 1}])


@pytest.mark.parametrize("kind", TABLES)
async def test_where_columns_are_named_an_item_without_them_is_an_empty_row(kind):
    content, refused = await written(kind, [{"b": 1}, {"a": 2}], fields=FieldChoice(["a"]))
    assert refused == {}
    CHECKS[kind](content, [{}, {"a": 2}])


async def test_a_refused_item_is_logged_where_nobody_else_is_told(caplog):
    assert await write_items([stored(LONG, 7)], io.BytesIO(), "excel") == 0
    assert "Product '7' was left out: its field 't' has 32,768 characters" in caplog.text


async def test_excel_begins_another_sheet(monkeypatch):
    monkeypatch.setattr("gossamer.export.excel.MAX_ROWS", 3)
    content, _ = await written("excel", [{"n": n} for n in range(5)])
    sheets = openpyxl.load_workbook(io.BytesIO(content)).worksheets
    assert [[row[0].value for row in sheet] for sheet in sheets] == [["n", 0, 1], ["n", 2, 3], ["n", 4]]
    assert [sheet.title for sheet in sheets] == ["Items", "Items 2", "Items 3"]


async def test_parquet_has_the_types_of_its_values(monkeypatch):
    monkeypatch.setattr("gossamer.export.parquet.GROUP_ROWS", 2)
    rows = [
        {"i": 1, "f": 1, "b": True, "t": "x", "l": ["a"], "m": 1, "o": {"x": 1}, "n": None, "e": []},
        {"i": 2, "f": 1.5, "b": None, "l": [], "m": "1"},
        {"i": 3},
    ]
    content, _ = await written("parquet", rows)
    file = pq.ParquetFile(io.BytesIO(content))
    assert [str(field.type) for field in file.schema_arrow] == [
        "int64", "double", "bool", "string", "list<element: string>", "string", "string", "string",
        "list<element: string>",
    ]  # fmt: skip
    assert file.num_row_groups == 2
    assert file.read().column("m").to_pylist() == ["1", '"1"', None]


class FullDisk(io.BytesIO):
    """A file on a disk with room for so many bytes."""

    room = 2000

    def write(self, data):
        if self.tell() + len(data) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("room", [0, 100, 1000, 4000])
async def test_a_full_disk_is_one_error_and_nothing_behind_it(room):
    """A bug it would catch: the destructor of a workbook tells the terminal that it fails, too."""
    disk = FullDisk()
    disk.room = room
    with pytest.raises(OSError, match="No space left"):
        await write_items([stored({"n": n}) for n in range(50)], disk, "excel")
    disk.close()
    gc.collect()
