"""Which items of a job a file has that grows with each run: remembered in the data directory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import structs

from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.export.files import identity_of, replace_file
from gossamer.export.new_items import IdRanges

MOST_JOBS = 100
"""The number of jobs (the latest) whose exported items are remembered."""


class ExportRecord(Record, frozen=True, kw_only=True):
    """The items in a file. Ids, because the order of ids is not the order in which a job saw the items."""

    file: str  # for people
    job: str
    ranges: tuple[tuple[int, int], ...] = ()
    others: dict[str, tuple[tuple[int, int], ...]] = {}  # of jobs that had written to the file before
    place: tuple[int, ...] = ()  # of a file that is about to take that one's place; empty: no other is
    former: ExportRecord | None = None  # the file's items until the replacement happens


class ExportRecordFile:
    """Remembers in the data directory which items of a job a file has."""

    def __init__(self, data: Path, path: Path, *, is_kept: bool = True) -> None:
        """``is_kept``: a crawl in memory leaves nothing behind, and its items are in no file yet."""
        self._target = path
        self._is_kept = is_kept
        name = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
        self._path = data / "exports" / f"{name}.json"

    @property
    def is_known(self) -> bool:
        """Whether it is known of which job the file has items."""
        return self._read_known() is not None

    def known_ranges(self, job: Job) -> IdRanges:
        """Return the items of the job that the file has; none if the file is gone, or unknown."""
        known = self._read_known()
        if known is None:
            return ()
        return known.ranges if known.job == job.id else known.others.get(job.id, ())

    def note_replacement(self, part: Path, job: Job, ranges: IdRanges, *, is_grown: bool) -> None:
        """Remember the items of a new file that replaces this one next, unless the process is killed.

        ``is_grown``: it keeps the items of the old one.
        """
        former = self._read_known()
        known = self._make_record(job, ranges, former if is_grown else None)
        self._write_known(structs.replace(known, place=identity_of(part), former=former))

    def note_items(self, job: Job, ranges: IdRanges, *, is_grown: bool) -> None:
        """Remember the items of the file."""
        self._write_known(self._make_record(job, ranges, self._read_known() if is_grown else None))

    def _make_record(self, job: Job, ranges: IdRanges, before: ExportRecord | None) -> ExportRecord:
        others = {} if before is None else {**before.others, before.job: before.ranges}
        others.pop(job.id, None)
        kept = dict(list(others.items())[-MOST_JOBS:])
        return ExportRecord(file=str(self._target), job=job.id, ranges=tuple(ranges), others=kept)

    def _read_known(self) -> ExportRecord | None:
        """Return the record for the file that is there now."""
        if not self._is_kept:
            return None
        try:
            known = msgspec.json.decode(self._path.read_bytes(), type=ExportRecord)
            if self._target.stat().st_size == 0:
                return None
            is_former = known.place and known.place != identity_of(self._target)
        except (OSError, msgspec.MsgspecError):
            return None
        return known.former if is_former else structs.replace(known, place=(), former=None)

    def _write_known(self, known: ExportRecord) -> None:
        """Written beside its place and renamed, so that it is never half written."""
        if not self._is_kept:
            return
        with replace_file(self._path, keep=False) as (out, _):
            out.write(msgspec.json.encode(known))
