"""Items out of the store, into a file of the format that its suffix names.

A file appears whole or not at all: it is written beside its place and renamed when complete, so a crash
or a full disk leaves what was there before. Memory does not grow with the number of items.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from gossamer.core.errors import UsageError
from gossamer.core.jobs import StoredItem
from gossamer.export import json
from gossamer.export.files import replace_file
from gossamer.export.json import JsonWriter
from gossamer.export.jsonl import JsonlWriter

SUFFIXES = {
    ".jsonl": "jsonl",
    ".jl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".xml": "xml",
}
"""The format that a suffix stands for."""
STREAMED = 200
"""Items of one piece of a stream."""
PIECE_BYTES = 1 << 18


class ItemWriter(Protocol):
    """One format being written. What is to be kept of an old file was written by the constructor."""

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item."""
        ...

    def write_end(self) -> None:
        """Write what comes after the last item."""
        ...

    def close(self) -> None:
        """Let go of what the writer holds; called in any case."""
        ...


def format_of(path: Path | str) -> str:
    """The format that a file's suffix names. Raises :class:`UsageError` for any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path}: {f'the suffix {suffix} is not the name of a format' if suffix else 'no suffix'}; "
            f"known are {', '.join(SUFFIXES)}; --format names it for any file"
        )
    return SUFFIXES[suffix]


async def write_items(
    items: Iterable[StoredItem] | AsyncIterable[StoredItem],
    target: Path | str | BinaryIO,
    format: str | None = None,  # noqa: A002 - the word that users know
    *,
    append: bool = False,
    safe_csv: bool = False,
    ready: Callable[[Path], None] = lambda part: None,
) -> int:
    """Write the items' data and say how many there were.

    ``target`` is a path, whose suffix is the ``format`` unless one is given, or an open binary file, which is
    neither renamed nor closed. ``append`` keeps what a file has; ``safe_csv`` marks cells that a spreadsheet
    would take for a formula with a leading apostrophe. ``ready`` is called with the path of the new file when
    that is complete, before it takes the place of the old one. Raises :class:`UsageError` for an unknown
    format and for a file that cannot be appended to, :class:`~gossamer.core.errors.StorageError` when
    writing fails.
    """
    if isinstance(target, str | Path):
        path = Path(target)
        make = _writer_for(format or format_of(path), safe_csv)
        with replace_file(path, keep=append, ready=ready) as (out, old):
            return await _write_all(make(out, old, str(path)), items)
    return await _write_all(_writer_for(format or "jsonl", safe_csv)(target, None, "output"), items)


async def stream_items(
    items: AsyncIterable[StoredItem],
    format: str,  # noqa: A002 - the word that users know
    *,
    safe_csv: bool = False,
) -> AsyncIterator[bytes]:
    """The items' data in a format, piece by piece; memory does not grow with their number.

    Raises :class:`UsageError` for an unknown format, before the first piece.
    """
    with tempfile.TemporaryFile() as waiting:  # csv knows its columns only at the end
        writer = _writer_for(format, safe_csv)(waiting, None, "output")
        with closing(writer):
            count = 0
            async for item in items:
                writer.write_item(item.data)
                count += 1
                if count % STREAMED == 0 and waiting.tell():
                    yield _take_bytes(waiting)
            writer.write_end()
        waiting.seek(0)
        while piece := waiting.read(PIECE_BYTES):
            yield piece


def _take_bytes(file: IO[bytes]) -> bytes:
    """All bytes of a file, which is empty afterwards."""
    file.seek(0)
    taken = file.read()
    file.seek(0)
    file.truncate()
    return taken


def check_appendable(path: Path, format: str) -> None:  # noqa: A002 - the word that users know
    """Whether items can be appended to a file, as it is now.

    Raises :class:`UsageError` for one that holds something else, ``OSError`` for one that cannot be read.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return
    _, check = _load_format(format)
    with path.open("rb") as old:
        check(old, str(path))


def _writer_for(name: str, safe_csv: bool) -> Callable[[BinaryIO, BinaryIO | None, str], ItemWriter]:
    make, _ = _load_format(name)
    return partial(make, safe=True) if safe_csv and name == "csv" else make


def _load_format(name: str) -> tuple[Callable[..., ItemWriter], Callable[[BinaryIO, str], object]]:
    """What writes a format, and what checks a file that is to be continued; most need neither csv nor xml."""
    if name == "jsonl":
        return JsonlWriter, lambda _old, _place: None  # every line stands alone
    if name == "json":
        return JsonWriter, json.find_end
    if name == "xml":
        from gossamer.export import xml

        return xml.XmlWriter, xml.find_end
    if name == "csv":
        from gossamer.export import csv

        return csv.CsvWriter, csv.read_header
    raise UsageError(f"there is no format {name!r}; known are {', '.join(dict.fromkeys(SUFFIXES.values()))}")


async def _write_all(writer: ItemWriter, items: Iterable[StoredItem] | AsyncIterable[StoredItem]) -> int:
    with closing(writer):
        count = 0
        if isinstance(items, AsyncIterable):
            async for item in items:
                writer.write_item(item.data)
                count += 1
        else:
            for item in items:
                writer.write_item(item.data)
                count += 1
        writer.write_end()
    return count
