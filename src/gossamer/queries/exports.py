"""The items of a job as files: which of them, under which names, on this machine or in a bucket."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from itertools import count as naturals
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from gossamer.config.overrides import parse_time
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError, UnknownJobError, UsageError
from gossamer.core.jobs import ItemFilter, Job, StoredItem
from gossamer.core.record import Record
from gossamer.export import write_items
from gossamer.export.fields import EVERY_FIELD, FieldChoice
from gossamer.export.names import BUCKET, NUMBER, TYPE, name_file, placeholders_in, split_url
from gossamer.ports.backends import StoreBackend
from gossamer.queries.freshness import select_gone
from gossamer.queries.items import list_file_types
from gossamer.queries.jobs import find_job
from gossamer.wiring.blobs import open_blobs

REFUSALS = 5
"""Items that are named of those that a format could not hold."""


class ItemChoice(Record, frozen=True, kw_only=True):
    """Which items of a job; all that are given have to fit."""

    type: str = ""
    since: float | None = None  # last seen then or later
    until: float | None = None  # last seen before
    changed_since: float | None = None  # by their latest change
    is_gone: bool = False  # only those whose pages are gone

    async def read_items(self, keeping: StoreBackend, job: Job) -> AsyncIterator[StoredItem]:
        """The items, in the order in which they were first stored."""
        which = ItemFilter(type=self.type, changed_since=self.changed_since)
        items = keeping.store.read_items(job, which=which)
        async for item in select_gone(keeping.known_pages, job.name, items) if self.is_gone else items:
            is_early = self.since is not None and item.last_seen < self.since
            if not is_early and (self.until is None or item.last_seen < self.until):
                yield item


class ExportPlan(Record, frozen=True, kw_only=True):
    """The items and the destination of an export."""

    target: str | BinaryIO  # a path or a URL of a bucket, perhaps with placeholders; or an open file
    format: str
    compression: str = ""
    choice: ItemChoice = ItemChoice()
    fields: FieldChoice = EVERY_FIELD
    safe_csv: bool = False
    split: int = 0  # items of one file, whose name has ``{n}``; 0: all

    def changed_since(self, at: float) -> ExportPlan:
        """The same of the items that are new or changed since a time."""
        return replace(self, choice=replace(self.choice, changed_since=at))


class ExportedFile(Record, frozen=True, kw_only=True):
    """One file that was written."""

    name: str
    items: int


class ExportResult(Record, frozen=True, kw_only=True):
    """The result of an export."""

    job: str
    format: str
    items: int
    files: tuple[ExportedFile, ...]  # none where the names depend on items, and there are none
    refused: int = 0  # items that the format cannot hold
    refusals: tuple[str, ...] = ()  # the first of them, each with the reason
    missing: tuple[str, ...] = ()  # fields that were asked for and that no item has
    removed: tuple[str, ...] = ()  # numbered files of an export before, behind the last of this one


async def find_change_time(keeping: StoreBackend, text: str, now: float) -> float:
    """Return the time for ``--changed-since``: the given one, or the end of the given job.

    Raises ``UsageError`` for any other text, and for a job that has not ended.
    """
    try:
        return parse_time(text, "--changed-since", now)
    except UsageError as error:
        try:
            job = await find_job(keeping, text)
        except UnknownJobError:
            raise UsageError(f"{error}; no job has that name either") from None
    if job.finished_at is None:
        raise UsageError(f"--changed-since {job.id}: it has not ended; give a time")
    return job.finished_at


async def export_items(
    keeping: StoreBackend, settings: Settings, job: Job, plan: ExportPlan, tell: Callable[[int], None]
) -> ExportResult:
    """Write the items of a job; ``tell`` is called with the number of those read so far.

    Each file appears whole or not at all. Raises ``UsageError``, ``MissingServiceError``, ``StorageError``.
    """
    await _check_type(keeping, job, plan.choice.type)
    run = _ExportRun(settings, plan, tell)
    if not isinstance(plan.target, str):
        reader = PartReader(run.count_items(plan.choice.read_items(keeping, job)))
        await run.write_file(reader.read_part(0), plan.target)
        return run.make_result(job)
    asked, may_be_empty = plan.choice.type, placeholders_in(plan.target).isdisjoint((TYPE, NUMBER))
    for kind in [asked] if asked else await list_file_types(keeping.items, job, plan.target):
        reader = PartReader(run.count_items(replace(plan.choice, type=kind).read_items(keeping, job)))
        names = map(partial(name_file, plan.target, job, kind), naturals(1))
        if not (may_be_empty or await reader.has_more()):
            continue
        await run.write_file(reader.read_part(plan.split), next(names))
        while plan.split and await reader.has_more():
            await run.write_file(reader.read_part(plan.split), next(names))
        if plan.split:
            await run.remove_rest(names)
    return run.make_result(job)


async def _check_type(keeping: StoreBackend, job: Job, asked: str) -> None:
    """Raises ``UsageError`` for a type that the spider never had, where it had others: a slip."""
    known = await keeping.items.list_types(job) if asked else []
    if known and asked not in known:
        raise UsageError(
            f"no item of {job.name} has the type {asked!r} that --type asks for; "
            f"there are: {', '.join(known)[:200]}"
        )


class PartReader:
    """Items in parts, each a file's."""

    def __init__(self, items: AsyncIterator[StoredItem]) -> None:
        self._items = items
        self._next: StoredItem | None = None

    async def has_more(self) -> bool:
        """Whether there is another item."""
        if self._next is None:
            self._next = await anext(self._items, None)
        return self._next is not None

    async def read_part(self, size: int) -> AsyncIterator[StoredItem]:
        """The next items, at most ``size``; 0: all."""
        count = 0
        while (not size or count < size) and await self.has_more():
            count += 1
            item, self._next = self._next, None
            assert item is not None
            yield item


class _ExportRun:
    """One running export: items written and items refused."""

    def __init__(self, settings: Settings, plan: ExportPlan, tell: Callable[[int], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._tell = tell
        self._read = 0
        self._files: list[ExportedFile] = []
        self._removed: list[str] = []
        self._refused = 0
        self._refusals: list[str] = []

    async def count_items(self, items: AsyncIterator[StoredItem]) -> AsyncIterator[StoredItem]:
        """Yield the items and report their number as progress."""
        async for item in items:
            self._read += 1
            self._tell(self._read)
            yield item

    async def write_file(self, items: AsyncIterator[StoredItem], target: str | BinaryIO) -> None:
        """Write one file, to its place on this machine or in a bucket."""
        if isinstance(target, str) and target.startswith(BUCKET):
            count = await self._write_blob(items, target)
        else:
            count = await self._write(items, target)
        name = target if isinstance(target, str) else "stdout"
        self._files.append(ExportedFile(name=name, items=count))

    async def remove_rest(self, names: Iterable[str]) -> None:
        """Delete the files that an export of more items or smaller files has left, up to the first gap."""
        for name in names:
            in_bucket = name.startswith(BUCKET)
            if not (await self._remove_blob(name) if in_bucket else _remove_file(Path(name))):
                break
            self._removed.append(name)

    async def _remove_blob(self, url: str) -> bool:
        place, name = split_url(url)
        blobs = open_blobs(place, self._settings)
        try:
            is_there = name in [info.name async for info in blobs.list_blobs(name)]
            if is_there:
                await blobs.delete_blob(name)
            return is_there
        finally:
            await blobs.close()

    async def _write(self, items: AsyncIterator[StoredItem], target: str | BinaryIO | Path) -> int:
        plan = self._plan
        return await write_items(
            items,
            target,
            plan.format,
            compression=plan.compression,
            safe_csv=plan.safe_csv,
            fields=plan.fields,
            refuse=self._note_refusal,
            ready=self._check_fields,
        )

    def _check_fields(self, _part: Path) -> None:
        """Raise ``UsageError`` for a file of empty rows only; the previous file is kept."""
        names, target = self._plan.fields.names, self._plan.target
        is_one = not (isinstance(target, str) and TYPE in placeholders_in(target))
        if is_one and names and len(self._plan.fields.missing) == len(names):
            raise UsageError(
                f"no item has a field that --fields asks for ({', '.join(names)[:200]}): nothing was written"
            )

    async def _write_blob(self, items: AsyncIterator[StoredItem], url: str) -> int:
        """By a file of this machine, so that the bucket has all of it or nothing."""
        place, name = split_url(url)
        blobs = open_blobs(place, self._settings)  # before anything is read: keys may be missing
        try:
            with tempfile.TemporaryDirectory(prefix="gossamer-export-") as folder:
                path = Path(folder) / "export"
                count = await self._write(items, path)
                await blobs.put_file(name, path)
        finally:
            await blobs.close()
        return count

    def _note_refusal(self, item: StoredItem, why: str) -> None:
        self._refused += 1
        if len(self._refusals) < REFUSALS:
            self._refusals.append(f"{item.type} {item.key[:80]!r}: {why}")

    def make_result(self, job: Job) -> ExportResult:
        """Return the result."""
        return ExportResult(
            job=job.id,
            format=self._plan.format,
            items=sum(file.items for file in self._files),
            files=tuple(self._files),
            refused=self._refused,
            refusals=tuple(self._refusals),
            missing=self._plan.fields.missing,
            removed=tuple(self._removed),
        )


def _remove_file(path: Path) -> bool:
    """Whether it was there. Raises ``StorageError``."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"{path}, of an export before, cannot be deleted: {error.strerror}") from error
    return True
