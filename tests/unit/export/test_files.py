"""Items into files."""

import csv
import io
import json
import os
import stat
import time
import tracemalloc
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import FileChangedError, StorageError, UsageError
from gossamer.core.jobs import StoredItem
from gossamer.export import buffer, check_appendable, write_items
from gossamer.export.formats import SUFFIXES, format_of

FORMATS = ("jsonl", "json", "csv", "xml")


def item(data):
    return StoredItem(type="item", key="", data=data, url="", first_seen=0.0, last_seen=0.0, changed_at=0.0)


def items(*datas):
    return [item(data) for data in datas]


async def exported(kind, *datas, **options):
    out = io.BytesIO()
    assert await write_items(items(*datas), out, kind, **options) == len(datas)
    return out.getvalue()


def rows(content: bytes):
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


A, B = {"sku": "a", "price": "1.5", "n": 1}, {"sku": 'b,"c"\r\n', "tags": ["x", {"y": None}], "ok": True}


async def test_jsonl():
    content = await exported("jsonl", A, B)
    assert [json.loads(line) for line in content.splitlines()] == [A, B]
    assert await exported("jsonl") == b""


async def test_json():
    assert json.loads(await exported("json", A, B)) == [A, B]
    assert json.loads(await exported("json")) == []


async def test_csv_columns_are_all_fields_in_first_seen_order():
    content = await exported("csv", A, B)
    assert content.splitlines()[0] == b"sku,price,n,tags,ok"
    assert rows(content) == [
        {"sku": "a", "price": "1.5", "n": "1", "tags": "", "ok": ""},
        {"sku": B["sku"], "price": "", "n": "", "tags": '["x",{"y":null}]', "ok": "true"},
    ]
    assert await exported("csv") == b""


@pytest.mark.parametrize("kind", ["csv", "excel", "parquet"])
async def test_an_item_that_would_make_too_many_columns_is_left_out(monkeypatch, kind):
    """Pages that name the fields of their items would make a table of items times columns: gigabytes."""
    monkeypatch.setattr(buffer, "MAX_COLUMNS", 3)
    refused, out = [], io.BytesIO()
    made = items({"a": 1, "b": 2}, {"b": "x", "c": 1, "d": 1}, {"c": 3})
    assert await write_items(made, out, kind, refuse=lambda _, why: refused.append(str(why))) == 2
    assert "3 columns of a table" in refused[0]
    assert len(refused) == 1
    if kind == "csv":
        assert out.getvalue() == b"a,b,c\r\n1,2,\r\n,,3\r\n"


async def test_xml():
    root = ET.fromstring(await exported("xml", A, B))
    assert root.tag == "items"
    one, two = root.findall("item")
    assert {field.tag: field.text for field in one} == {"sku": "a", "price": "1.5", "n": "1"}
    assert two.findtext("sku") == B["sku"]
    assert [value.text for value in two.findall("tags/value")] == ["x", None]
    assert two.find("tags/value/y") is not None
    assert ET.fromstring(await exported("xml")).findall("item") == []


@pytest.mark.parametrize(
    "name", ["my field", "1st", "xmlfoo", "a:b", "", "ä", "<x>", 'q"\r\n\t', "²", "-a", "\ufffe", "日本"]
)
async def test_xml_names(name):
    root = ET.fromstring(await exported("xml", {name: "v"}))
    (field,) = root.find("item")
    assert field.text == "v"
    assert field.get("name", field.tag) == name.replace("\ufffe", "\\ufffe")
    assert field.get("name-escapes") == ("json" if name == "\ufffe" else None)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text(), min_size=2)))
async def test_text_goes_round_in_every_format(datas):
    names = dict.fromkeys(name for data in datas for name in data)
    expected = [{name: data.get(name, "") for name in names} for data in datas]
    assert rows(await exported("csv", *datas)) == expected
    assert json.loads(await exported("json", *datas)) == datas
    root = ET.fromstring(await exported("xml", *datas))
    assert [len(element) for element in root] == [len(data) for data in datas]


@pytest.mark.parametrize("cell", ["=cmd()", "+1", "-1", "@x", "\tx", "\rx", "\n=1", "\uff1d1"])
async def test_formulas_are_marked_only_in_the_safe_mode(cell):
    data = {cell: cell, "n": -1, "t": "a=b"}
    assert rows(await exported("csv", data)) == [{cell: cell, "n": "-1", "t": "a=b"}]
    assert rows(await exported("csv", data, safe_csv=True)) == [
        {f"'{cell}": f"'{cell}", "n": "-1", "t": "a=b"}
    ]


@pytest.mark.parametrize("kind", FORMATS)
async def test_appending_continues_the_file(tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    both = await exported(kind, A, {**A, "sku": "b"})
    await write_items(items(A), path)
    assert path.read_bytes() == await exported(kind, A)
    assert await write_items(items({**A, "sku": "b"}), path, append=True) == 1
    assert path.read_bytes() == both
    await write_items(items(), path, append=True)
    assert path.read_bytes() == both
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("old", [None, b""])
async def test_appending_to_nothing_starts_a_file(tmp_path, kind, old):
    path = tmp_path / "sub" / f"out.{kind}"
    if old is not None:
        path.parent.mkdir()
        path.write_bytes(old)
    await write_items(items(A), str(path), append=True)
    assert path.read_bytes() == await exported(kind, A)


@pytest.mark.parametrize(
    ("name", "old", "message"),
    [
        ("x.json", b'{"a": 1}\n', "not hold a JSON array"),
        ("x.json", b"[1, 2", "not hold a JSON array"),
        ("x.csv", b"sku;price\r\n", "not separated by commas"),
        ("x.csv", b"a,a\r\n", "no header with distinct names"),
        ("x.xml", b"<items><item>", "does not end with </items>"),
        ("x.xml", b"<html></html>", "does not end with </items>"),
    ],
)
async def test_appending_to_something_else_is_refused_and_changes_nothing(tmp_path, name, old, message):
    path = tmp_path / name
    path.write_bytes(old)
    with pytest.raises(UsageError, match=message):
        await write_items(items(A), path, append=True)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(UsageError, match=message):  # and that is known beforehand
        check_appendable(path, path.suffix[1:])


@pytest.mark.parametrize("old", [b"[]", b" [\n ] \n", b"[\n]\n"])
async def test_appending_to_an_empty_array(tmp_path, old):
    path = tmp_path / "x.json"
    path.write_bytes(old)
    await write_items(items(A, B), path, append=True)
    assert json.loads(path.read_bytes()) == [A, B]


async def test_a_record_cut_by_a_crash_is_left_out_and_a_whole_one_is_kept(tmp_path):
    path = tmp_path / "x.jsonl"
    for last, kept in ((b'{"a": 2', []), (b'{"a": 2}', [{"a": 2}]), (b'{"a": "' + b"x" * 200_000, [])):
        path.write_bytes(b'{"a": 1}\n' + last)
        await write_items(items(A), path, append=True)
        assert [json.loads(line) for line in path.read_bytes().splitlines()] == [{"a": 1}, *kept, A]


async def test_csv_append_fills_absent_fields_and_a_missing_line_end(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfsku,price,n,=more\r\nz,1,1,1")
    await write_items(items(A), path, append=True)
    assert path.read_bytes().endswith(b"z,1,1,1\r\na,1.5,1,\r\n")
    path.write_bytes(b"'=x,y\r\n")
    await write_items(items({"=x": "=1"}), path, append=True, safe_csv=True)
    assert path.read_bytes() == b"'=x,y\r\n'=1,\r\n"


async def test_csv_append_makes_columns_for_new_fields_and_keeps_what_the_file_had(tmp_path):
    path = tmp_path / "x.csv"
    long = b"x" * 200_000  # more than the csv module reads unless it is told to
    old = b'\xef\xbb\xbfsku,"a ""b"""\r\n"1\r\n,2", 5" \xff\n\r\nshort\rtoo,many,cells\n%s,2' % long
    path.write_bytes(old)
    await write_items(items({"new": 1, "sku": "s"}, {"other, too": True}), path, append=True)
    added = (b',new,"other, too"\r\n', b",,\r\n", b"\r\n", b",,,\r\n", b",\r\n", b",,\r\n")
    kept = (
        b'\xef\xbb\xbfsku,"a ""b"""', b'"1\r\n,2", 5" \xff', b"", b"short", b"too,many,cells", long + b",2",
    )  # fmt: skip
    wide = b"".join(part for pair in zip(kept, added, strict=True) for part in pair)
    assert path.read_bytes() == wide + b"s,,1,\r\n,,,true\r\n"
    await write_items(items({"new": 2}), path, append=True)
    assert path.read_bytes() == wide + b"s,,1,\r\n,,,true\r\n,,2,\r\n"
    assert csv.field_size_limit() == 131072


@pytest.mark.parametrize("kind", FORMATS)
async def test_a_failure_leaves_the_old_file(tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    path.write_bytes(b"old")

    def failing():
        yield from items(*([{"a": "x" * 1000}] * 2000))
        raise RuntimeError("the store broke")

    with pytest.raises(RuntimeError):
        await write_items(failing(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


async def test_async_items_are_taken(tmp_path):
    async def stored():
        for one in items(A, B):
            yield one

    assert await write_items(stored(), tmp_path / "x.jsonl") == 2


async def test_the_mode_of_the_file_and_a_symlink_are_kept(tmp_path):
    path, link = tmp_path / "x.jsonl", tmp_path / "link.jsonl"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    await write_items(items(A), link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert json.loads(path.read_bytes()) == A


async def test_devices_are_written_directly(tmp_path):
    assert await write_items(items(A), "/dev/null", "json") == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


async def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        await write_items(items(A), tmp_path / "file" / "x.json")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    assert await write_items(items(A), tmp_path / "loop.json") == 1  # takes the place of a link to nowhere
    with pytest.raises(UsageError, match="is a folder"):
        await write_items(items(A), tmp_path / "folder.json")


def test_formats_are_known_by_suffix():
    assert [format_of(f"{{spider}}.x{suffix}.gz") for suffix in SUFFIXES] == list(SUFFIXES.values())
    assert [format_of(f"a.b{suffix}") for suffix in SUFFIXES] == list(SUFFIXES.values())
    assert format_of("X.JSON") == "json"
    with pytest.raises(UsageError, match=r"suffix \.yaml is not the name of a format; known are \.jsonl"):
        format_of("x.yaml")
    with pytest.raises(UsageError, match="no suffix"):
        format_of("x")


async def test_an_unknown_format_is_refused():
    with pytest.raises(
        UsageError, match="unknown format 'yaml'; known are jsonl, json, csv, xml, parquet, excel"
    ):
        await write_items([], io.BytesIO(), "yaml")


@pytest.mark.parametrize("kind", FORMATS)
async def test_memory_does_not_grow_with_the_items(tmp_path, kind):
    tracemalloc.start()
    try:
        began = time.perf_counter()
        await write_items((item({"n": n, "t": "x" * 2000}) for n in range(5000)), tmp_path / f"x.{kind}")
        assert time.perf_counter() - began < 10
        assert tracemalloc.get_traced_memory()[1] < 5_000_000  # of 10 MB
    finally:
        tracemalloc.stop()


async def test_what_somebody_else_appends_meanwhile_is_not_lost(tmp_path):
    """Bug it would catch: of two crawls with `-o` to one file the later one drops the items of the other."""
    path = tmp_path / "shared.jsonl"
    path.write_text('{"sku": "old"}\n')

    async def slowly():
        yield item(A)
        with path.open("a") as other:
            other.write('{"sku": "other"}\n')

    with pytest.raises(FileChangedError, match=r"shared.jsonl was changed by another program"):
        await write_items(slowly(), path, append=True)
    assert path.read_text() == '{"sku": "old"}\n{"sku": "other"}\n'
    assert os.listdir(tmp_path) == ["shared.jsonl"], "nothing half-written is left"
    await write_items(slowly(), path)  # as a whole: whatever it was
    assert json.loads(path.read_text()) == A


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "csv", "excel", "parquet"])
async def test_a_full_disk_is_named_as_such(kind):
    """Bug it would catch: a format whose library has errors of its own says that this is a bug of ours."""
    with io.FileIO("/dev/full", "w") as out, pytest.raises((OSError, StorageError)) as caught:
        await write_items(items(*[A] * 50_000), out, kind)
    assert "No space left" in str(caught.value)
