"""The files that ``-o`` and ``-O`` name: checked before the crawl, written after it. ``-`` is stdout.

``-o`` appends each item of a job once to a file, over however many runs the job takes, and whenever one of
them is killed: which items a file has is remembered in the data directory, before it takes its place.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.export import SUFFIXES, check_appendable, format_of, write_items
from gossamer.export.files import replace_file
from gossamer.observe.text import shown_url
from gossamer.ports.store import Store
from gossamer.queries.items import IdRanges, NewItemReader

STDOUT = "-"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class ExportFile(Record, frozen=True):
    """One file to export to."""

    path: Path | None  # None: stdout
    append: bool
    format: str

    @property
    def name(self) -> str:
        """How people are told of it."""
        return "stdout" if self.path is None else str(self.path)

    @classmethod
    def from_options(
        cls,
        *,
        append: Sequence[str] | None,
        overwrite: Sequence[str] | None,
        format: str | None = None,  # noqa: A002 - users' word
    ) -> tuple[ExportFile, ...]:
        """The files of the two options. Raises ``UsageError`` for what could not be written later."""
        named = [(name, True) for name in append or ()] + [(name, False) for name in overwrite or ()]
        outputs = tuple(check_output(name, append=is_append, format=format) for name, is_append in named)
        names = [output.name for output in outputs]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"{name} is named twice by -o and -O; name it once")
        return outputs


def check_output(name: str, *, append: bool, format: str | None = None) -> ExportFile:  # noqa: A002 - users' word
    """A file that can be written: its format is known, its folder is there (it is made) and writable.

    One that is to be continued holds what can be continued.
    """
    if format is not None and format not in SUFFIXES.values():
        raise UsageError(
            f"there is no format {format!r}; known are {', '.join(dict.fromkeys(SUFFIXES.values()))}"
        )
    if name == STDOUT:
        return ExportFile(None, append, format or "jsonl")
    if scheme := _SCHEME.match(name):
        raise UsageError(
            f"{shown_url(name)}: items are written to files of this machine, not to {scheme[1]}:// places; "
            "write to a file and copy it there"
        )
    path = Path(name).expanduser()
    chosen = format or format_of(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be created: {error.strerror}") from None
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path} cannot be written: permission denied")
    if append:
        try:
            check_appendable(path, chosen)
        except OSError as error:
            raise UsageError(f"{path} cannot be read, to append to it: {error.strerror}") from None
    return ExportFile(path.absolute(), append, chosen)


async def write_export(output: ExportFile, store: Store, job: Job, data: Path) -> int:
    """Write a job's items; for ``append``, those that the file does not have from an earlier run.

    Stdout gets all of them each time.
    """
    if output.path is None:
        return await write_items(store.read_items(job), sys.stdout.buffer, output.format)
    mark = _ExportRecordFile(data, output.path)
    reader = NewItemReader(store, job, mark.known_ranges(job) if output.append else ())
    count = await write_items(
        reader.new_items(),
        output.path,
        output.format,
        append=output.append,
        ready=lambda part: mark.note_replacement(part, job, reader.seen),
    )
    mark.note_items(job, reader.seen)
    return count


class _ExportRecord(Record, frozen=True, kw_only=True):
    """What a file has. Ids, because the order of ids is not the order in which a job saw the items."""

    file: str  # for people
    job: str
    ranges: tuple[tuple[int, int], ...] = ()
    place: tuple[int, ...] = ()  # of a file that is about to take that one's place; empty: no other is
    former: _ExportRecord | None = None  # what the file has as long as that has not happened


class _ExportRecordFile:
    """Remembers in the data directory which items of a job a file has."""

    def __init__(self, data: Path, path: Path) -> None:
        self._target = path
        name = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
        self._path = data / "exports" / f"{name}.json"

    def known_ranges(self, job: Job) -> IdRanges:
        """The items of the job that the file has; none when the file is gone, or nobody knows."""
        known = self._read_known()
        return known.ranges if known is not None and known.job == job.id else ()

    def note_replacement(self, part: Path, job: Job, ranges: IdRanges) -> None:
        """Remember what a new file has that takes this one's place next, unless the process is killed."""
        known = _ExportRecord(
            file=str(self._target), job=job.id, ranges=tuple(ranges), place=_identity_of(part)
        )
        self._write_known(replace(known, former=self._read_known()))

    def note_items(self, job: Job, ranges: IdRanges) -> None:
        """Remember what the file has."""
        self._write_known(_ExportRecord(file=str(self._target), job=job.id, ranges=tuple(ranges)))

    def _read_known(self) -> _ExportRecord | None:
        """What the file has that is there now."""
        try:
            known = msgspec.json.decode(self._path.read_bytes(), type=_ExportRecord)
            if self._target.stat().st_size == 0:
                return None
            is_former = known.place and known.place != _identity_of(self._target)
        except (OSError, msgspec.MsgspecError):
            return None
        return known.former if is_former else replace(known, place=(), former=None)

    def _write_known(self, known: _ExportRecord) -> None:
        """Written beside its place and renamed, so that it is never half written."""
        with replace_file(self._path, keep=False) as (out, _):
            out.write(msgspec.json.encode(known))


def _identity_of(path: Path) -> tuple[int, ...]:
    """What tells a file from all others, and stays when it is renamed."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
