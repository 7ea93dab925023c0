"""Reads the archives of all jobs below one place: pages by location, or by URL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from gossamer.archive import cdxj
from gossamer.archive.depot import INDEX, WARC
from gossamer.archive.http_block import split_block
from gossamer.archive.index import CdxjIndex
from gossamer.archive.open_file import NOTES, OPEN
from gossamer.archive.scanning import PIECE_BYTES, WarcFileReader
from gossamer.archive.warc import WarcRecord, digest_of, entry_of, fetched_of, read_member, request_digest_of
from gossamer.core.archive import ArchivedPage, ArchiveEntry, ArchiveLocation
from gossamer.core.errors import ArchiveDamagedError, BlobMissingError
from gossamer.ports.blob_store import BlobStore

log = logging.getLogger("gossamer.crawl")

AT_ONCE = 16
FINISHED_MEANWHILE = 5
"""So often a listing is made again, at most: each time a file was finished meanwhile."""


async def has_answers(blobs: BlobStore, job: str) -> bool:
    """Whether an archive has anything of a job; nothing is read where names and sizes say it."""
    is_unknown = False
    async for info in blobs.list_blobs(f"{job}/"):
        if info.size_bytes and info.name.endswith((INDEX, NOTES)):
            return True
        is_unknown = is_unknown or info.name.endswith((WARC, OPEN))
    if is_unknown:
        async for _ in WarcReader(blobs).list_pages(job):
            return True
    return False


class _ScannedFile(NamedTuple):
    """A file without an index, as far as it was read."""

    size: int  # when it was read
    whole_bytes: int  # up to the end of its last whole record
    lines: list[bytes]  # lines of an index


class WarcReader:
    """Reads WARC files that a ``WarcWriter`` wrote.

    If a file has no index yet, or its writer was killed, the reader uses the writer's index lines and scans
    the rest. With ``is_snapshot`` the files of a job are listed once, and later ones are not found.
    """

    def __init__(self, blobs: BlobStore, *, is_snapshot: bool = False) -> None:
        self._blobs = blobs
        self._is_snapshot = is_snapshot
        self._listings: dict[str, dict[str, int]] = {}
        self._indexes: dict[str, dict[str, CdxjIndex]] = {}
        self._scanned: dict[str, _ScannedFile] = {}
        self._damaged: set[str] = set()  # files with a warning already logged

    def __repr__(self) -> str:
        return f"WarcReader({self._blobs!r})"

    async def read_page(self, place: str) -> ArchivedPage:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        try:
            location, record = await self._read_record(place)
            entry = entry_of(record, location)
            if entry is None:
                raise ValueError("it is not an answer")
            _, body = split_block(record.block)
            if entry.is_revisit:
                _, former = await self._read_record(record.fields["gossamer-refers-to"])
                _, body = split_block(former.block)
            if digest_of(body) != entry.digest:
                raise ValueError("its body has another digest")
            return ArchivedPage(entry=entry, fetched=fetched_of(entry, record, body))
        except (KeyError, ValueError) as error:
            raise ArchiveDamagedError(
                f"the record at {place} of the archive cannot be read: {error}"
            ) from error

    async def find_page(
        self, job: str, url: str, method: str = "GET", body: bytes = b"", variant: str = ""
    ) -> ArchiveEntry | None:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        digest = request_digest_of(body)
        found = [
            entry
            for key in cdxj.keys_of(url)
            for entry in await self._find_entries(job, f"{key} ".encode())
            if (entry.url, entry.method, entry.request_digest) == (url, method, digest)
        ]
        return max(found, key=lambda entry: (entry.variant == variant, entry.at), default=None)

    async def list_pages(self, job: str) -> AsyncIterator[ArchiveEntry]:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        latest: dict[tuple[str, str, str], ArchiveEntry] = {}
        for entry in await self._find_entries(job, b""):
            key = entry.url, entry.method, entry.request_digest
            if 200 <= entry.status < 300 and (key not in latest or latest[key].at <= entry.at):
                latest[key] = entry
        for entry in sorted(latest.values(), key=_order_of):
            yield entry

    # ------------------------------------------------------------------ records

    async def _read_record(self, place: str) -> tuple[ArchiveLocation, WarcRecord]:
        """Raises ``ValueError`` for a place that is none, and for a record that is broken."""
        location = ArchiveLocation.from_text(place)
        names = (location.file, location.file + OPEN, location.file)  # it may be renamed just now
        for name in names:
            try:
                data = await self._blobs.read_range(name, location.offset, location.length)
                break
            except BlobMissingError:
                continue
        else:
            raise BlobMissingError(f"the archive has no file {location.file} any more, or has not got it yet")
        return location, read_member(data)

    # ------------------------------------------------------------------ indexes

    async def _find_entries(self, job: str, prefix: bytes) -> list[ArchiveEntry]:
        """Return the entries of a job's indexes under a key.

        A file that is finished between listing and reading changes its name: the job is listed again.
        """
        for _ in range(FINISHED_MEANWHILE):
            with suppress(BlobMissingError):
                return await self._read_listed(job, prefix)
            self._listings.pop(job, None)
        return await self._read_listed(job, prefix)

    async def _read_listed(self, job: str, prefix: bytes) -> list[ArchiveEntry]:
        folder = f"{job}/"
        sizes = await self._list_sizes(job, folder)
        known = self._indexes.setdefault(job, {})
        groups: list[Sequence[bytes]] = []
        indexed = []
        for name, size in sizes.items():
            if not name.endswith((WARC, WARC + OPEN)):
                continue
            index = name.removesuffix(OPEN).removesuffix(WARC) + INDEX
            if index in sizes and not name.endswith(OPEN):
                indexed.append(known.setdefault(index, CdxjIndex(self._blobs, index, sizes[index])))
            else:
                groups.append([line for line in await self._scan(name, size) if line.startswith(prefix)])
        for start in range(0, len(indexed), AT_ONCE):
            some = indexed[start : start + AT_ONCE]
            groups += await asyncio.gather(*(index.find_lines(prefix) for index in some))
        return [_read_line(line, folder) for lines in groups for line in lines]

    async def _list_sizes(self, job: str, folder: str) -> dict[str, int]:
        """Return the sizes of all blobs of a job, by name."""
        if self._is_snapshot and job in self._listings:
            return self._listings[job]
        sizes = {info.name: info.size_bytes async for info in self._blobs.list_blobs(folder)}
        if self._is_snapshot:
            self._listings[job] = sizes
        return sizes

    async def _scan(self, name: str, size: int) -> list[bytes]:
        """Return the index lines of a file without an index; only its new part is read."""
        known = self._scanned.get(name)
        if known is not None and known.size == size:
            return known.lines
        start, lines = known[1:] if known else await self._read_notes(name, size)
        if start < size:
            reader = WarcFileReader(name.removesuffix(OPEN), start)
            read = start
            while not reader.is_broken and (piece := await self._blobs.read_range(name, read, PIECE_BYTES)):
                await asyncio.to_thread(reader.feed_piece, piece)
                read += len(piece)
            start, lines = reader.whole_bytes, [*lines, *(line.encode() for line in reader.lines)]
            if start < size and name not in self._damaged and not name.endswith(OPEN):
                self._damaged.add(name)
                log.warning(
                    "the archive's file %s is whole only up to byte %d of %d; the rest is missing",
                    *(name, start, size),
                )
        self._scanned[name] = _ScannedFile(size, start, lines)
        return lines

    async def _read_notes(self, name: str, size: int) -> tuple[int, list[bytes]]:
        """Return the index lines that its writer left for a file, and the size they cover."""
        with suppress(BlobMissingError, ArchiveDamagedError):
            data = await self._blobs.read_range(name + NOTES)
            is_cut = b"\0" in data  # a power cut leaves zeros
            lines = [] if is_cut else data.splitlines()[: data.count(b"\n")]
            while lines:
                place = _read_line(lines[-1], name.rpartition("/")[0] + "/").location
                if place.offset + place.length <= size:
                    return place.offset + place.length, lines
                lines.pop()  # it was written after the file was looked at, or the file lost its end
        return 0, []


def _read_line(line: bytes, folder: str) -> ArchiveEntry:
    try:
        return cdxj.entry_from(line.decode(), folder)
    except ValueError as error:
        raise ArchiveDamagedError(f"the index of the archive {folder} cannot be read: {error}") from error


def _order_of(entry: ArchiveEntry) -> tuple[float, str, int]:
    return entry.at, entry.location.file, entry.location.offset
