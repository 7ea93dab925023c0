"""Exports items from the store to a file; its suffix selects the format.

A file appears whole or not at all: it is written beside its place and renamed when complete, so a crash or a
full disk leaves the old file. Memory does not grow with the number of items.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from gossamer.core.jobs import StoredItem
from gossamer.export.fields import EVERY_FIELD, FieldChoice
from gossamer.export.files import replace_file
from gossamer.export.formats import (
    check_compression,
    check_growth,
    check_old,
    compression_of,
    format_of,
    load_writer,
)
from gossamer.export.writer import ItemWriter, UnfitItemError

STREAMED = 200
"""Items of one piece of a stream."""
PIECE_BYTES = 1 << 18

log = logging.getLogger("gossamer.crawl")


def log_refusal(item: StoredItem, why: str) -> None:
    """Say of an item that a format cannot hold."""
    log.warning("%s %.200r was left out: %s", item.type, item.key, why)


async def write_items(
    items: Iterable[StoredItem] | AsyncIterable[StoredItem],
    target: Path | str | BinaryIO,
    format: str | None = None,  # noqa: A002 - the word that users know
    *,
    append: bool = False,
    safe_csv: bool = False,
    compression: str = "",
    fields: FieldChoice = EVERY_FIELD,
    ready: Callable[[Path], None] = lambda part: None,
    refuse: Callable[[StoredItem, str], None] = log_refusal,
) -> int:
    """Write the items' data. Return their number.

    ``target`` is a path, whose suffixes are the ``format`` and the ``compression`` unless they are given, or
    an open binary file, which is neither renamed nor closed. ``append`` keeps a file's content; ``safe_csv``
    marks cells that a spreadsheet would take for a formula with a leading apostrophe. ``ready`` is called
    with the path of the new file when that is complete, before it replaces the old one; ``refuse`` with each
    item that the format cannot hold, and the reason: only that item is left out. Raises :class:`UsageError`
    for an unknown format and for a file that cannot be appended to,
    :class:`~gossamer.core.errors.MissingServiceError` for a format whose package is missing,
    :class:`~gossamer.core.errors.StorageError` when writing fails.
    """
    path = Path(target) if isinstance(target, str | Path) else None
    kind = format or ("jsonl" if path is None else format_of(path))
    packing = compression or ("" if path is None else compression_of(path))
    check_compression(packing, kind)
    make = _writer_for(kind, safe_csv, fields)
    with ExitStack() as stack:
        out, old, place = cast("BinaryIO", target), None, "output"
        if path is not None:
            out, old = stack.enter_context(replace_file(path, keep=append, ready=ready))
            place = str(path)
        if packing:
            packer = import_module("gossamer.export.compress")  # most files do without
            old = stack.enter_context(packer.open_unpacked(old, packing, place)) if old else None
            out = stack.enter_context(packer.open_packed(out, packing))
        return await _write_all(make(out, old, place), items, fields, refuse)


def write_rows(
    rows: Iterable[dict[str, Any]],
    target: str | BinaryIO,
    format: str,  # noqa: A002 - the word that users know
    *,
    compression: str = "",
) -> None:
    """Write rows that are not items, such as those of a query; raises the errors of :func:`write_items`."""
    with ExitStack() as stack:
        out: BinaryIO = cast("BinaryIO", target)
        if isinstance(target, str):
            out, _ = stack.enter_context(replace_file(Path(target), keep=False))
        if compression:
            packer = import_module("gossamer.export.compress")
            out = stack.enter_context(packer.open_packed(out, compression))
        writer = stack.enter_context(closing(load_writer(format)(out, None, "output")))
        for row in rows:
            writer.write_item(row)
        writer.write_end()


async def stream_items(
    items: AsyncIterable[StoredItem],
    format: str,  # noqa: A002 - the word that users know
    *,
    safe_csv: bool = False,
) -> AsyncIterator[bytes]:
    """Yield the items' data in a format, piece by piece; memory does not grow with their number.

    Items that the format cannot hold are left out, and logged. Raises :class:`UsageError` for an unknown
    format, before the first piece.
    """
    with tempfile.TemporaryFile() as waiting:  # csv, for one, knows its columns only at the end
        writer = _writer_for(format, safe_csv, EVERY_FIELD)(waiting, None, "output")
        with closing(writer):
            count = 0
            async for item in items:
                _write_item(writer, item, EVERY_FIELD, log_refusal)
                count += 1
                if count % STREAMED == 0 and waiting.tell():
                    yield _take_bytes(waiting)
            await asyncio.to_thread(writer.write_end)  # that of a table is long, and others use this loop
        waiting.seek(0)
        while piece := waiting.read(PIECE_BYTES):
            yield piece


def _take_bytes(file: IO[bytes]) -> bytes:
    """Return all bytes of a file, which is empty afterwards."""
    file.seek(0)
    taken = file.read()
    file.seek(0)
    file.truncate()
    return taken


def check_appendable(path: Path, format: str, compression: str = "") -> None:  # noqa: A002 - users' word
    """Whether items can be appended to a file, as it is now.

    Raises :class:`UsageError` for one that holds something else, and for a format that cannot be continued;
    ``OSError`` for one that cannot be read.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return
    check_growth(format, path)
    with ExitStack() as stack:
        old: BinaryIO = stack.enter_context(path.open("rb"))
        if packing := compression or compression_of(path):
            packer = import_module("gossamer.export.compress")
            old = stack.enter_context(packer.open_unpacked(old, packing, str(path)))
        check_old(format, old, str(path))


def _writer_for(
    name: str, safe_csv: bool, fields: FieldChoice
) -> Callable[[BinaryIO, BinaryIO | None, str], ItemWriter]:
    make = load_writer(name)
    if name == "csv":
        return partial(make, fields=fields.names, safe=safe_csv)
    return partial(make, fields=fields.names) if name in ("parquet", "excel") else make


async def _write_all(
    writer: ItemWriter,
    items: Iterable[StoredItem] | AsyncIterable[StoredItem],
    fields: FieldChoice,
    refuse: Callable[[StoredItem, str], None],
) -> int:
    with closing(writer):
        count = 0
        if isinstance(items, AsyncIterable):
            async for item in items:
                count += _write_item(writer, item, fields, refuse)
        else:
            for item in items:
                count += _write_item(writer, item, fields, refuse)
        writer.write_end()
    return count


def _write_item(
    writer: ItemWriter, item: StoredItem, fields: FieldChoice, refuse: Callable[[StoredItem, str], None]
) -> bool:
    """Whether the format could hold it."""
    try:
        writer.write_item(fields.pick(item))
    except UnfitItemError as error:
        refuse(item, str(error))
        return False
    return True
