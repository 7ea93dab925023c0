"""Lists of URLs: every line becomes a row, or says why it does not."""

from __future__ import annotations

import gzip
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import UsageError
from gossamer.core.requests import FARTHEST
from gossamer.jobs.row_reader import RowReader
from gossamer.jobs.seed_files import LONGEST, SeedFile, zstd
from gossamer.jobs.seeding import request_of


async def rows_of(path, text_format=None, column="url"):
    found = SeedFile(str(path), text_format, column)
    return [row async for chunk in found.chunks() for row in chunk]


async def test_lines_without_comments_and_empty_ones(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(
        b"\xef\xbb\xbfhttps://a.example/\r\n\n  # a comment\n shop.example/b \nhttps://c.example/#d"
    )
    rows = await rows_of(path)
    assert [(row.number, row.fields["url"], row.problem) for row in rows] == [
        (1, "https://a.example/", ""),
        (4, "shop.example/b", ""),
        (5, "https://c.example/#d", ""),
    ]


async def test_lines_that_are_no_text_are_rows_that_say_so(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(
        b"\xff\xfe\nhttps://a.example/\n" + b"x" * (2 * LONGEST + 5) + b"\nb\0c\nhttps://d.example/\n"
    )
    rows = await rows_of(path)
    assert [(row.number, row.problem) for row in rows] == [
        (1, "not UTF-8"),
        (2, ""),
        (3, f"longer than {LONGEST:,} bytes"),
        (4, "not text"),
        (5, ""),
    ]


@pytest.mark.parametrize(
    ("written", "urls"),
    [
        (b"http://h/m1\rhttp://h/m2", ["http://h/m1", "http://h/m2"]),
        (b"http://h/m1\r\rhttp://h/m2\r\nhttp://h/m3\n", ["http://h/m1", "http://h/m2", "http://h/m3"]),
        (b'"http://h/m1"\n"http://h/m2",\n', ["http://h/m1", "http://h/m2"]),
        (b"'http://h/m1'\n 'http://h/m2', \n", ["http://h/m1", "http://h/m2"]),
        (b"<http://h/m1>\n<URL:http://h/m2>\n", ["http://h/m1", "http://h/m2"]),
        ("\u201chttp://h/m1\u201d\n".encode(), ["http://h/m1"]),
        (b'"http://h/m1" # first\nhttp://h/m2\t# second', ["http://h/m1", "http://h/m2"]),
        ("\u200bhttp://h/m1\xa0\u200b\n\ufeffhttp://h/m2\u3000".encode(), ["http://h/m1", "http://h/m2"]),
        (
            b"http://h/a b\nhttps://h/web/1/http://g/?u=http://f/#a",
            ["http://h/a b", "https://h/web/1/http://g/?u=http://f/#a"],
        ),
        (b'http://h/it\'s\nhttp://h/?q="a"', ["http://h/it's", 'http://h/?q="a"']),
    ],
)
async def test_lists_are_read_however_their_lines_end_and_are_quoted(tmp_path, written, urls):
    path = tmp_path / "urls.txt"
    path.write_bytes(written)
    rows = await rows_of(path)
    assert [row.fields["url"] for row in rows] == urls
    assert [request_of(row.fields).url for row in rows] == urls


@pytest.mark.parametrize(
    "line",
    [
        *(
            "- http://h/1",
            "1. http://h/1",
            "[x](http://h/1)",
            "(http://h/1)",
            "\xabhttp://h/1\xbb",
            '["http://h/1"]',
        ),
        *(
            "http://h/1 http://h/2",
            "http://h/1,http://h/2",
            "http://h/1;https://h/2",
            "<http://h/1> <http://h/2>",
        ),
        *(
            "http://h/1\t200",
            "http://h/1\x0bhttp://h/2",
            "http://h/1\u2028http://h/2",
            "http://h/1\x85http://h/2",
        ),
        *('<a href="http://h/1">', "`http://h/1`", "url: http://h/1", "http//h/1", "https:/h/2", "//h/1"),
    ],
)
async def test_a_line_that_is_not_one_url_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "urls.txt"
    path.write_bytes(f"http://h/0\n{line}\n".encode())
    first, row = await rows_of(path)
    assert (first.problem, row.number) == ("", 2)
    if row.problem:
        assert row.problem == "not one URL"
    else:
        with pytest.raises(UsageError, match="not a URL"):
            request_of(row.fields)


async def test_two_urls_in_quotation_marks_on_a_line_are_refused_by_its_number(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(b'http://h/m1\r"http://h/m2", "http://h/m3"\r<http://h/m4\r')
    rows = await rows_of(path)
    assert [row.number for row in rows] == [1, 2, 3]
    assert request_of(rows[0].fields).url == "http://h/m1"
    for row in rows[1:]:
        with pytest.raises(UsageError, match="not a URL"):
            request_of(row.fields)


async def test_long_lines_that_end_with_cr_are_told_from_long_lists(tmp_path):
    path = tmp_path / "urls.txt"
    line = b"http://h/" + b"x" * 991
    path.write_bytes(b"\r".join([line] * 3000 + [b"y" * (2 * LONGEST), b"http://h/z"]))
    rows = await rows_of(path)
    assert [row.fields["url"] for row in rows if not row.problem] == [line.decode()] * 3000 + ["http://h/z"]
    assert [(row.number, row.problem) for row in rows if row.problem] == [
        (3001, f"longer than {LONGEST:,} bytes")
    ]


async def test_a_table_names_its_column_and_the_rest_of_the_request(tmp_path):
    path = tmp_path / "urls.csv"
    path.write_text(
        'rank,link,priority,meta\n1,https://a.example/,2,"{""k"": 1}"\n#no\n\n2,"https://b.example/\n#x",,\n'
    )
    rows = await rows_of(path, column="link")
    assert [(row.number, dict(row.fields)) for row in rows] == [
        (2, {"url": "https://a.example/", "priority": "2", "meta": '{"k": 1}'}),
        (6, {"url": "https://b.example/\n#x"}),
    ]
    request = request_of(rows[0].fields)
    assert (request.priority, request.meta) == (2, {"k": 1})


async def test_a_table_without_the_column_says_which_it_has(tmp_path):
    path = tmp_path / "urls.tsv"
    path.write_text("rank\tlink\n1\thttps://a.example/\n")
    with pytest.raises(UsageError, match=r"column 'url' is missing; the first line has: rank, link"):
        await rows_of(path)


async def test_json_lines_are_objects_or_strings(tmp_path):
    path = tmp_path / "urls.jsonl"
    path.write_text('{"url": "https://a.example/", "callback": "parse_it", "cb_kwargs": {"n": 1}, "x": 2}\n'
                    '"https://b.example/"\n[1]\n{oops\n')  # fmt: skip
    rows = await rows_of(path)
    assert [dict(row.fields) for row in rows[:2]] == [
        {"url": "https://a.example/", "callback": "parse_it", "cb_kwargs": {"n": 1}},
        {"url": "https://b.example/"},
    ]
    assert rows[2].problem == "neither an object nor a string"
    assert rows[3].problem.startswith("not JSON")


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
async def test_packed_files_are_told_by_their_first_bytes(tmp_path, pack):
    path = tmp_path / "urls.txt"
    path.write_bytes(pack(b"https://a.example/\nhttps://b.example/\n"))
    assert [row.fields["url"] for row in await rows_of(path)] == ["https://a.example/", "https://b.example/"]


@pytest.mark.slow
async def test_a_packed_file_that_was_cut_off_says_so_after_its_rows(tmp_path):
    path = tmp_path / "urls.gz"
    path.write_bytes(gzip.compress(b"".join(b"https://a.example/%d\n" % n for n in range(100_000)))[:-2000])
    rows = []

    async def read():
        async for chunk in SeedFile(str(path)).chunks():
            rows.extend(chunk)

    with pytest.raises(UsageError, match=r"is damaged: .*what came before was added"):
        await read()
    assert len(rows) > 50_000


@pytest.fixture
def pipe(monkeypatch):
    """A pipe that is standard input: what goes into it."""
    end, way_in = os.pipe()
    with open(end) as read, open(way_in, "wb", buffering=0) as write:
        monkeypatch.setattr(sys, "stdin", read)
        yield write


async def test_standard_input(pipe):
    pipe.write(b"https://a.example/\n")
    pipe.close()
    assert [row.fields["url"] for row in await rows_of("-")] == ["https://a.example/"]


@pytest.mark.slow
async def test_rows_of_a_slow_pipe_do_not_wait_for_a_whole_chunk(pipe):
    """And whoever stops reading does not wait for a line that never comes."""
    pipe.write(b"https://a.example/\nhttps://b.example/\n")
    chunks = SeedFile("-").chunks()
    first = await anext(chunks)
    pipe.write(b"https://c.example/\n")
    second = await anext(chunks)
    assert [row.number for row in [*first, *second]] == [1, 2, 3]
    await chunks.aclose()


async def test_a_reader_that_is_faster_is_held_back():
    read = 0

    def rows():
        nonlocal read
        for number in range(100):
            read += 1
            yield number

    found, most = [], 0
    async for chunk in RowReader(rows, 5).chunks():
        found += chunk
        most = max(most, len(chunk))
        assert read <= len(found) + 11
    assert (found, most <= 10) == ([*range(100)], True)


async def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: the file does not exist"):
        await rows_of(tmp_path / "nothing.txt")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        await rows_of(tmp_path)
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        SeedFile("a" * 300)
    with pytest.raises(UsageError, match="none of lines, csv, tsv, jsonl"):
        SeedFile("-", "yaml")


@given(st.binary(max_size=200), st.sampled_from(["lines", "jsonl", "csv", "tsv"]))
async def test_whatever_a_file_holds_nothing_else_is_raised(tmp_path_factory, content, text_format):
    path = tmp_path_factory.mktemp("any") / "urls"
    path.write_bytes(b"url\n" + content)
    for row in await rows_of(path, text_format):
        try:
            request_of(row.fields)
        except UsageError:
            continue


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": ""}, "the URL is missing"),
        ({"url": None}, "the URL is missing"),
        ({"url": "hello world"}, "not a URL"),
        ({"url": "https://a.example/", "priority": "high"}, "is not a whole number"),
        ({"url": "https://a.example/", "priority": float("inf")}, "is not a whole number"),
        ({"url": "https://a.example/", "meta": "{"}, "meta is not JSON"),
        ({"url": "https://a.example/", "meta": "[1]"}, "meta"),
        ({"url": "https://a.example/", "callback": 3}, "callback"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(fields, problem):
    with pytest.raises(UsageError, match=problem):
        request_of(fields)


def test_priorities_that_no_crawl_tells_apart_are_the_farthest():
    assert request_of({"url": "https://a.example/", "priority": "9" * 40}).priority == FARTHEST
    assert request_of({"url": "https://a.example/", "priority": -(10**30)}).priority == -FARTHEST
    assert request_of({"url": "https://a.example/", "priority": 10**12}).priority == 10**12


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_a_list_in_utf_16_is_said_once(tmp_path, encoding):
    """As some shells write it: not one message for each of its lines."""
    path = tmp_path / "urls.txt"
    path.write_bytes("\ufeffhttps://a.example/\r\nhttps://b.example/\r\n".encode(encoding))
    with pytest.raises(UsageError, match="UTF-16: save it as UTF-8"):
        await rows_of(path)


async def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="stdin is closed"):
        await rows_of("-")


def test_a_url_in_the_parameters_is_no_scheme():
    url = "shop.example/login?next=https://shop.example/a"
    assert request_of({"url": url}).url == f"https://{url}"


def test_a_name_without_a_scheme_is_meant_as_https():
    assert request_of({"url": "shop.example/a"}).url == "https://shop.example/a"
