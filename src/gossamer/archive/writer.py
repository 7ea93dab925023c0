"""Writes the answers of sites into WARC files, in batches; large batches in a thread."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeVar

from gossamer.archive import cdxj
from gossamer.archive.depot import WARC, ArchiveDepot
from gossamer.archive.open_file import OpenWarcFile
from gossamer.archive.packing import pack_record, store_record
from gossamer.archive.warc import (
    RecordCounter,
    exchange_records,
    info_record,
    new_entry,
    parts_of,
)
from gossamer.core.archive import ArchiveEntry, ArchiveLocation
from gossamer.core.errors import StorageError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.version import __version__

log = logging.getLogger("gossamer.crawl")

ValueT = TypeVar("ValueT")

MAX_ANSWERS = 25_000
"""The limit for one file: its index is kept in memory until the file is finished (about 10 MB)."""
MAX_DIGESTS = 100_000
PACKED_HERE_BYTES = 512 * 1024
"""So much is packed at once, in about 2 ms: a thread would fight for the interpreter for longer than that."""
LISTED_AT_ONCE = 32
"""Answers whose index lines are made together, except for the first: separate calls for the few answers of
most commits would cost twice as much. Until then a reader scans at most this many records."""
LISTED_BYTES = 1024 * 1024
"""At most this much, plus the last commit, is written without index lines."""
SLOW_S = 0.02
"""A disk that takes longer for that is written to in a thread from then on, until the next file."""
REFERS_FOR_S = 86_400.0
"""How long later records may refer to a body: after that its file may be deleted."""


class ArchiveOptions(Record, frozen=True, kw_only=True):
    """How an archive is written."""

    max_file_bytes: int = 1024**3
    revisits: bool = True  # whether a body that was written before is referred to
    keeps_credentials: bool = False
    is_synced: bool = False  # whether ``flush`` waits for the disk; else only for the operating system
    publishes_turns: bool = False  # whether ``flush`` makes a file of the written bytes


class _Waiting(Record, frozen=True):
    request: Request
    fetched: FetchResult
    place: asyncio.Future[str] | None = None  # None: no task waits for it


class _PackedBatch(NamedTuple):
    data: bytes
    entries: list[ArchiveEntry]
    new: dict[str, ArchiveEntry]  # by digest: bodies that were not written before


_body_of = attrgetter("fetched.body")


def _is_small(batch: Sequence[_Waiting]) -> bool:
    return sum(map(len, map(_body_of, batch))) <= PACKED_HERE_BYTES


class WarcWriter:
    """An :class:`~gossamer.ports.archive_writer.ArchiveWriter` of WARC 1.1 files.

    Larger batches are written in a thread while the loop runs. The few pages of a turn are written at once: a
    thread costs more, most of all for a commit that waits for it.
    """

    def __init__(self, depot: ArchiveDepot, job: str, options: ArchiveOptions | None = None) -> None:
        self._depot = depot
        self._job = job
        self._options = options or ArchiveOptions()
        self._worker = secrets.token_hex(6)
        self._number = 0
        self._ids = RecordCounter()
        self._file: OpenWarcFile | None = None
        self._name = ""
        self._lines: list[str] = []  # of the index of the file
        self._unlisted: list[ArchiveEntry] = []  # written, but not yet in the index lines
        self._former: OrderedDict[str, ArchiveEntry] = OrderedDict()
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._is_slow = False
        self._trouble: BaseException | None = None  # why the queue could not be written
        self._publishing: asyncio.Task[None] | None = None
        self._one_publishes = asyncio.Lock()
        self._finished: list[tuple[OpenWarcFile, str, list[str]]] = []  # with the lines of their index

    def __repr__(self) -> str:
        return f"<WarcWriter of {self._job}, {self._number} files>"

    async def write_exchange(self, request: Request, fetched: FetchResult) -> str:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        place: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(request=request, fetched=fetched, place=place))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting())
        return await place

    def queue_exchange(self, request: Request, fetched: FetchResult) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        self._waiting.append(_Waiting(request=request, fetched=fetched))

    async def flush(self) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        await self._write_all()
        if self._options.publishes_turns:
            self._finish_file()
            await self._publish_finished()  # also files that are full, and still being published
        elif self._options.is_synced and self._file is not None:
            await self._in_thread(self._file.sync)

    async def close(self) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        try:
            await self._write_all()
        finally:
            await self._finish_all()

    async def _finish_all(self) -> None:
        if self._writing is not None:  # no task waits for it any more
            await asyncio.wait({self._writing})
        self._finish_file()
        if self._publishing is not None:
            await asyncio.wait({self._publishing})
        try:
            await self._publish_finished()
        finally:
            for file, _, _ in self._finished:  # left for the worker that takes them over
                file.close()

    # ------------------------------------------------------------------ writing

    async def _write_all(self) -> None:
        """Raise the error that keeps the queue from being written."""
        self._trouble = None
        if self._writing is None and self._is_written_here(self._waiting):
            await self._write_waiting()  # without a pause, so that nothing breaks it off
        while self._writing is not None or (self._waiting and self._trouble is None):
            if self._writing is None:
                self._writing = asyncio.create_task(self._write_waiting())
            await asyncio.wait({self._writing})
        if self._trouble is not None:
            raise self._trouble

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    entries = await self._append_batch(batch)
                except BaseException as error:  # noqa: BLE001 - the waiting task raises it
                    self._take_back([*batch, *self._waiting], error)
                    return
                for waiting, entry in zip(batch, entries, strict=True):
                    if waiting.place is not None and not waiting.place.done():  # or the visit was broken off
                        waiting.place.set_result(entry.location.text)
                if self._is_full():
                    self._finish_file()
                    self._publish_aside()
        finally:
            self._writing = None

    def _take_back(self, batch: Sequence[_Waiting], error: BaseException) -> None:
        """Report the error to the waiting tasks, and keep the queue for another attempt."""
        self._waiting = [waiting for waiting in batch if waiting.place is None]
        self._trouble = error if self._waiting else None
        for waiting in batch:
            if waiting.place is not None and not waiting.place.done():
                waiting.place.set_exception(error)

    def _is_full(self) -> bool:
        file = self._file
        return file is not None and (
            file.size >= self._options.max_file_bytes or len(self._lines) + len(self._unlisted) >= MAX_ANSWERS
        )

    async def _in_thread(self, act: Callable[[], ValueT]) -> ValueT:
        with self._in_words():
            return await asyncio.to_thread(act)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the archive cannot be written: {error.filename or self._name}: {error.strerror or error}"
            ) from error

    async def _append_batch(self, batch: Sequence[_Waiting]) -> Sequence[ArchiveEntry]:
        """Append a batch and return its entries. Either all are written or none."""
        file = self._file
        if file is None:
            file = await self._in_thread(self._open_file)
        pack = partial(self._pack_batch, batch, file.size)
        if self._is_written_here(batch):
            packed = pack()
            self._store_here(file, packed)
        else:
            packed = pack() if _is_small(batch) else await self._in_thread(pack)
            await self._in_thread(partial(self._store_batch, file, packed))
        return packed.entries

    def _is_written_here(self, batch: Sequence[_Waiting]) -> bool:
        """Whether it is little, and has a quick place."""
        is_quick = self._file is not None and not (self._is_slow or self._options.is_synced)
        return is_quick and _is_small(batch)

    def _pack_batch(self, batch: Sequence[_Waiting], offset: int) -> _PackedBatch:
        keeps, refers = self._options.keeps_credentials, self._options.revisits
        written: list[bytes] = []
        entries: list[ArchiveEntry] = []
        new: dict[str, ArchiveEntry] = {}
        known = self._former
        for waiting in batch:
            request, fetched = waiting.request, waiting.fetched
            parts = parts_of(request, fetched, keeps_credentials=keeps)
            digest = parts.digest
            former = new.get(digest) or known.get(digest)
            if former is not None and abs(parts.at - former.at) > REFERS_FOR_S:
                former = None
            asked, said = exchange_records(parts, former, self._ids, keeps_credentials=keeps)
            is_sent_so = fetched.raw is not None and parts.content.is_compressed
            sent, answer = store_record(asked), store_record(said) if is_sent_so else pack_record(said)
            offset += len(sent)
            location = ArchiveLocation(file=self._name, offset=offset, length=len(answer))
            offset += len(answer)
            written += (sent, answer)
            entry = new_entry(parts, location, is_revisit=former is not None)
            entries.append(entry)
            if former is None and refers and parts.block.body:
                new[digest] = entry
        return _PackedBatch(b"".join(written), entries, new)

    def _store_here(self, file: OpenWarcFile, packed: _PackedBatch) -> None:
        began = time.perf_counter()
        with self._in_words():
            self._store_batch(file, packed)
        self._is_slow = time.perf_counter() - began > SLOW_S

    def _store_batch(self, file: OpenWarcFile, packed: _PackedBatch) -> None:
        file.append_bytes(packed.data)
        self._unlisted += packed.entries
        offset = self._unlisted[0].location.offset
        is_much = len(self._unlisted) >= LISTED_AT_ONCE or file.size - offset >= LISTED_BYTES
        if is_much or not self._lines:
            file.note_lines(self._list_answers())
        self._remember_bodies(packed.new)
        if self._options.is_synced and self._is_full():
            file.sync()  # the next ``flush`` has another file

    def _list_answers(self) -> list[str]:
        """Return the lines of the index that were not made yet."""
        lines = list(map(cdxj.line_of, self._unlisted))
        self._lines += lines
        self._unlisted = []
        return lines

    def _remember_bodies(self, new: Mapping[str, ArchiveEntry]) -> None:
        self._former.update(new)
        while len(self._former) > MAX_DIGESTS:
            self._former.popitem(last=False)

    def _open_file(self) -> OpenWarcFile:
        name = f"{self._job}/{self._worker}-{self._number + 1:05}{WARC}"
        file = self._depot.open_file(name)
        self._file, self._name, self._lines, self._is_slow = file, name, [], False
        self._number += 1
        info = info_record(name, f"gossamer/{__version__}", self._job, self._ids.make_id())
        file.append_bytes(pack_record(info))
        return file

    # ------------------------------------------------------------------ finished files

    def _finish_file(self) -> None:
        """The next answer begins another file."""
        if self._file is not None:
            self._list_answers()
            self._finished.append((self._file, self._name, self._lines))
            self._file, self._lines = None, []

    def _publish_aside(self) -> None:
        """Publish finished files while others are written; failures are retried."""
        if self._publishing is None:
            self._publishing = asyncio.create_task(self._try_to_publish())

    async def _try_to_publish(self) -> None:
        try:
            await self._publish_finished()
        except StorageError as error:
            log.warning("a finished file of the archive stays here for now and is tried again: %s", error)
        finally:
            self._publishing = None

    async def _publish_finished(self) -> None:
        """Publish the finished files. Raises ``StorageError``; files that were not published remain."""
        async with self._one_publishes:
            while self._finished:
                file, name, lines = self._finished[0]
                await self._depot.publish_file(file, name, lines)
                self._finished.pop(0)
