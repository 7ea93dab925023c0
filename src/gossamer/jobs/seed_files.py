"""Lists of URLs, read in bounded memory: lines, CSV or JSON, plain or compressed.

Guarantee: each line of a file becomes one row, either with a URL or with its problem, and no line is kept
longer than its chunk.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import string
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from gossamer.core.errors import UsageError
from gossamer.jobs.row_reader import RowReader

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 2000
"""Rows that are read at once."""
LONGEST = 1 << 20
"""Bytes of a line, at most: with ``meta`` it may be more than a URL."""
FORMATS = ("lines", "csv", "tsv", "jsonl")
FIELDS = ("url", "callback", "priority", "meta", "cb_kwargs")
"""Fields of a row."""
STDIN = "-"
_BY_SUFFIX = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_PACKED = (".gz", ".zst")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_WRAPPED = re.compile(r""""([^"]*)",?|'([^']*)',?|<(?:URL:)?([^<>]*)>|\u201c([^\u201d]*)\u201d,?""")
_COMMENT = re.compile(r"\s#.*")
_BLANKS = f"{string.whitespace}\xa0\u3000\u200b\u2060\ufeff"
_SEVERAL = re.compile(r"[\s,;|]https?://|[\x00-\x1f\x7f\x85\u2028\u2029]", re.IGNORECASE)
"""A second URL, or a separator of columns or lines."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


Line = tuple[int, str, str]
"""Its number, its text without the end of the line, and why it is none."""


class SeedRow(NamedTuple):
    """One row of a list."""

    number: int  # of its line, from 1; of a database: of the row
    fields: Mapping[str, Any]
    problem: str = ""  # why it is not a request; empty: it may be one


class SeedFile:
    """A list of URLs; ``text_format`` is one of ``FORMATS``, by default that of the name.

    ``column`` is the name of the column or field with the URL. Raises ``UsageError`` for a missing file, or
    an unknown format.
    """

    def __init__(self, place: str, text_format: str | None = None, column: str = "url") -> None:
        if place != STDIN:
            _check_place(place)
        self.place = place
        self.size_bytes = _size_of(place)  # None: unknown
        self.read_bytes = 0  # of the file as it is on disk
        self._format = text_format or _format_of(place)
        self._column = column
        if self._format not in FORMATS:
            raise UsageError(f"--format {text_format!r} is none of {', '.join(FORMATS)}")

    def __repr__(self) -> str:
        return f"<SeedFile {self.place} ({self._format})>"

    def chunks(self) -> AsyncIterator[list[SeedRow]]:
        """Yield the rows in chunks. Raises ``UsageError`` for a file that cannot be read to its end."""
        return RowReader(self._read_rows, CHUNK).chunks()

    def _read_rows(self) -> Iterator[SeedRow]:
        with _open_plain(self.place) as (raw, plain):
            try:
                for number, row in enumerate(_READERS[self._format](_lines_of(plain), self._column)):
                    if number % CHUNK == 0:
                        self.read_bytes = _position_of(raw)
                    yield row
            except (zlib.error, gzip.BadGzipFile, zstd.ZstdError, EOFError) as error:
                raise UsageError(f"{self.place} is damaged: {error}; what came before was added") from None
            except OSError as error:
                raise UsageError(
                    f"{self.place} cannot be read to its end: {error.strerror or error}"
                ) from None


def _check_place(place: str) -> None:
    """Raise ``UsageError`` where nothing can be, before a job is made for it."""
    try:
        Path(place).stat()
    except FileNotFoundError:
        raise UsageError(f"{place} cannot be read: the file does not exist") from None
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from None


def _size_of(place: str) -> int | None:
    if place == STDIN:
        return None
    path = Path(place)
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _position_of(raw: BinaryIO) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):  # a pipe
        return 0


def _format_of(place: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(place).suffixes if suffix.lower() not in _PACKED]
    return _BY_SUFFIX.get(suffixes[-1] if suffixes else "", "lines")


@contextmanager
def _open_plain(place: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the file as it is, and its content: its first bytes tell whether it is compressed."""
    try:
        raw = _open_stdin() if place == STDIN else cast("BinaryIO", open(place, "rb"))  # noqa: SIM115, PTH123
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}") from None
    with raw:
        head = raw.peek(len(_ZSTD))[: len(_ZSTD)] if isinstance(raw, io.BufferedReader) else b""
        if head.startswith(_GZIP):
            yield raw, cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        elif head == _ZSTD:
            yield raw, cast("BinaryIO", zstd.ZstdFile(raw))
        else:
            yield raw, raw


def _open_stdin() -> BinaryIO:
    """Open standard input again, since the caller may close its own while this one is read."""
    if sys.stdin is None:
        raise UsageError("stdin is closed: the list cannot be read")
    return os.fdopen(os.dup(sys.stdin.fileno()), "rb")


def _lines_of(plain: BinaryIO) -> Iterator[Line]:
    """Yield the lines of a file; a line that is not text is empty, with its problem."""
    for number, line in enumerate(_split_lines(plain), 1):
        if line is None:
            yield number, "", f"longer than {LONGEST:,} bytes"
            continue
        if number == 1 and line.startswith(_UTF16) and b"\0" in line:
            raise UsageError("the list is in UTF-16: save it as UTF-8, or pipe it through `iconv -f utf-16`")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # noqa: PLW2901
        try:
            text = line.decode()
        except UnicodeDecodeError:
            yield number, "", "not UTF-8"
            continue
        yield (number, "", "not text") if "\0" in text else (number, text, "")


def _split_lines(plain: BinaryIO) -> Iterator[bytes | None]:
    """Lines without their ends, which are LF, CR LF or CR; ``None`` for one that is too long."""
    rest, is_long = b"", False
    while piece := plain.readline(LONGEST):
        *whole, rest = _LINE_END.split(rest + piece)
        if is_long and whole:
            whole, is_long = [None, *whole[1:]], False
        yield from whole
        if is_long or len(rest) >= LONGEST:
            rest, is_long = b"", True
    if is_long or rest:
        yield None if is_long else rest


def _without_comments(lines: Iterator[Line]) -> Iterator[Line]:
    return (line for line in lines if line[2] or not (line[1].isspace() or line[1].lstrip()[:1] in ("", "#")))


def _read_lines(lines: Iterator[Line], _column: str) -> Iterator[SeedRow]:
    for number, text, problem in _without_comments(lines):
        url = _unwrap_url(_COMMENT.sub("", text))
        yield SeedRow(number, {"url": url}, problem or ("not one URL" if _SEVERAL.search(url) else ""))


def _unwrap_url(text: str) -> str:
    """Return a URL without quotation marks, a comma or angle brackets around it (RFC 3986, C)."""
    text = text.strip(_BLANKS)
    found = _WRAPPED.fullmatch(text)
    return text if found is None else found[found.lastindex or 0].strip(_BLANKS)


def _read_json(lines: Iterator[Line], column: str) -> Iterator[SeedRow]:
    for number, text, problem in _without_comments(lines):
        fields, wrong = ({}, problem) if problem else _decode_line(text, column)
        yield SeedRow(number, fields, wrong)


def _decode_line(text: str, column: str) -> tuple[Mapping[str, Any], str]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return {}, f"not JSON ({error})"
    if isinstance(value, str):
        return {"url": value}, ""
    if not isinstance(value, dict):
        return {}, "neither an object nor a string"
    return named_fields(value, column), ""


def named_fields(row: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    """Return the known fields of a row, with the URL under its own name."""
    return {"url": row.get(column)} | {
        name: row[name] for name in FIELDS[1:] if row.get(name) not in (None, "")
    }


def _read_table(lines: Iterator[Line], column: str, delimiter: str = ",") -> Iterator[SeedRow]:
    """Rows of a table with a header; a row with a line that is wrong says so."""
    wrong: list[str] = []

    def texts() -> Iterator[str]:
        for _, text, problem in lines:
            if problem:
                wrong.append(problem)
            yield f"{text}\n"

    reader = csv.reader(texts(), delimiter=delimiter)
    header: list[str] = []
    while True:
        row: list[str] = []
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong.append(str(error))
        if not wrong and (not row or row[0].lstrip().startswith("#")):
            continue
        if header or wrong:
            fields = named_fields(dict(zip(header, row, strict=False)), column)
            yield SeedRow(reader.line_num, fields, ", ".join(wrong))
            wrong.clear()
        else:
            header = _check_header([name.strip() for name in row], column)


def _check_header(header: list[str], column: str) -> list[str]:
    if column not in header:
        raise UsageError(
            f"the column {column!r} is missing; the first line has: {', '.join(header)[:300]}. Name the one "
            "with the URLs with --column"
        )
    return header


def _read_tabs(lines: Iterator[Line], column: str) -> Iterator[SeedRow]:
    return _read_table(lines, column, "\t")


_READERS: dict[str, Callable[[Iterator[Line], str], Iterator[SeedRow]]] = {
    "lines": _read_lines,
    "jsonl": _read_json,
    "csv": _read_table,
    "tsv": _read_tabs,
}
