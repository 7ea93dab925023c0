"""Files that a crawl writes at its end: their formats and their items.

A file in append mode gets each item of a job once, over all runs and kills: the record of its items is
stored before the new file takes its place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TextIO

from msgspec import structs

from gossamer.core.errors import FileChangedError, UsageError
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job
from gossamer.core.lazy import lazy_pattern
from gossamer.core.record import Record
from gossamer.export import check_appendable, write_items
from gossamer.export.fields import EVERY_FIELD, FieldChoice
from gossamer.export.formats import (
    check_compression,
    check_growth,
    compression_of,
    find_kind,
    format_of,
    load_writer,
)
from gossamer.export.names import BUCKET, check_url, name_file, placeholders_in
from gossamer.export.new_items import NewItemReader
from gossamer.export.records import ExportRecordFile
from gossamer.observe.text import shown_url
from gossamer.ports.store import Store
from gossamer.queries.items import list_file_types
from gossamer.wiring.backends import Backends

MOST_TRIES = 5
"""Attempts to write a file that other processes keep changing."""
_SCHEME = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class ExportFile(Record, frozen=True):
    """One file to export to."""

    path: Path | None  # perhaps with placeholders; None: stdout, or a bucket
    append: bool
    format: str
    compression: str = ""
    url: str = ""  # of a file in a bucket

    @property
    def name(self) -> str:
        """The name shown to people."""
        return self.url or ("stdout" if self.path is None else str(self.path))

    @property
    def is_stdout(self) -> bool:
        """Whether it is the output of this process."""
        return self.path is None and not self.url

    @property
    def can_grow(self) -> bool:
        """Whether new items come behind those that are there."""
        return self.append and find_kind(self.format).can_grow

    @property
    def is_rewritten(self) -> bool:
        """Whether it is to have all items of one job, and is written anew for each that is added."""
        return self.path is not None and self.append and not self.can_grow


def check_file(
    name: str,
    *,
    append: bool,
    format: str | None = None,  # noqa: A002 - users' word
    compression: str | None = None,
) -> ExportFile:
    """Return a file that can be written: its format is known, and its folder exists or is made.

    In append mode the present content must allow it.
    """
    scheme = _SCHEME.match(name)
    if scheme and not name.startswith(BUCKET):
        raise UsageError(
            f"{shown_url(name)}: items are written to files of this machine and to s3://BUCKET/NAME, not to "
            f"{scheme[1]}:// places; write to a file and copy it there"
        )
    if not scheme and Path(name).is_dir():
        raise UsageError(f"{name} is a folder; name a file in it")
    chosen, packing = format or format_of(name), compression or compression_of(name)
    check_compression(packing, chosen)
    load_writer(chosen)
    if scheme:
        if append:
            raise UsageError(
                f"{name}: a file in a bucket cannot be continued; -O writes all items of the job"
            )
        check_url(name)
        return ExportFile(None, append, chosen, packing, name)
    path = Path(name).expanduser()
    if not placeholders_in(name):
        try:
            _check_place(path)
        except OSError as error:  # a name that is too long, a loop of links
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
        if append and find_kind(chosen).can_grow:  # of the others, those of the same job are written anew
            _check_old(path, chosen, packing)
    return ExportFile(path.absolute(), append, chosen, packing)


def _check_place(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be created: {error.strerror}") from None
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path} cannot be written: permission denied")


def _check_old(path: Path, chosen: str, packing: str) -> None:
    try:
        check_appendable(path, chosen, packing)
    except OSError as error:
        raise UsageError(f"{path} cannot be read, to append to it: {error.strerror}") from None


def check_before_job(output: ExportFile, data: Path, *, fresh: bool) -> None:
    """Run :func:`check_continuation` before the job is known (``fresh``: a new one)."""
    path = output.path
    if path is None or not output.is_rewritten or not path.is_file():
        return
    if fresh or not ExportRecordFile(data, path).is_known:
        check_growth(output.format, path)


def check_continuation(output: ExportFile, job: Job, data: Path, *, is_new: bool = False) -> None:
    """Raises ``UsageError`` for a file that has items of something else, where that cannot be continued.

    A file that has items of the same job is written anew, with all of them; ``is_new``: none has.
    """
    if output.path is None or not output.is_rewritten:
        return
    path = Path(name_file(str(output.path), job))
    if not ExportRecordFile(data, path, is_kept=not is_new).known_ranges(job):
        check_growth(output.format, path)


async def write_output(
    output: ExportFile, backends: Backends, job: Job, stdout: TextIO, fields: FieldChoice = EVERY_FIELD
) -> list[tuple[str, int]]:
    """Write a job's items to a file that the options of a crawl name, or to one of each type.

    The names of the files, each with the number of its items. Raises ``UsageError`` where two types would be
    one file.
    """
    if output.path is None:
        exports = import_module("gossamer.queries.exports")  # files of this machine do without
        target = stdout.buffer if output.is_stdout else output.name
        plan = exports.ExportPlan(
            target=target, format=output.format, compression=output.compression, fields=fields
        )
        result = await exports.export_items(
            backends.keeping, backends.settings, job, plan, lambda _count: None
        )
        if output.is_stdout:
            return [(output.name, result.items)]
        return [(file.name, file.items) for file in result.files]
    data, target = Path(backends.settings.data), str(output.path)
    written = []
    for kind in await list_file_types(backends.items, job, target):
        file = structs.replace(output, path=Path(name_file(target, job, kind)))
        which, is_new = ItemFilter(type=kind), backends.settings.memory
        count = await write_export(file, backends.store, job, data, which, fields=fields, is_new=is_new)
        written.append((file.name, count))
    return written


async def write_export(
    output: ExportFile,
    store: Store,
    job: Job,
    data: Path,
    which: ItemFilter = EVERY_ITEM,
    *,
    fields: FieldChoice = EVERY_FIELD,
    is_new: bool = False,
) -> int:
    """Write those of a job's items that fit; for ``append``, those that the file does not have already.

    ``is_new``: no file has any of them, and nothing is noted for later.
    """
    for _ in range(MOST_TRIES):
        with suppress(FileChangedError):  # by another crawl: including its items
            return await _write_once(output, store, job, data, which, fields=fields, is_new=is_new)
    return await _write_once(output, store, job, data, which, fields=fields, is_new=is_new)


async def _write_once(
    output: ExportFile,
    store: Store,
    job: Job,
    data: Path,
    which: ItemFilter,
    *,
    fields: FieldChoice,
    is_new: bool,
) -> int:
    assert output.path is not None
    mark = ExportRecordFile(data, output.path, is_kept=not is_new)
    if output.is_rewritten and not mark.known_ranges(job):
        check_growth(output.format, output.path)
    reader = NewItemReader(
        store.read_items(job, which=which), mark.known_ranges(job) if output.can_grow else ()
    )
    count = await write_items(
        reader.new_items(),
        output.path,
        output.format,
        append=output.can_grow,
        compression=output.compression,
        fields=fields,
        ready=lambda part: mark.note_replacement(part, job, reader.seen, is_grown=output.can_grow),
    )
    mark.note_items(job, reader.seen, is_grown=output.can_grow)
    return count
