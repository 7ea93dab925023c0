"""An archive in memory, for tests of its readers and writers."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator

from msgspec.structs import replace

from gossamer.core.archive import ARCHIVE_RUNG, ArchivedPage, ArchiveEntry, ArchiveLocation
from gossamer.core.errors import BlobMissingError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.policy.request_variants import variant_of

SECRET_HEADERS = frozenset({"set-cookie", "authorization", "proxy-authorization", "cookie"})
HIDDEN = "-"
"""The replacement for a credential."""

_Key = tuple[str, str, bytes]


class MemoryArchive:
    """Port ``ArchiveReader`` over the flushed records of this archive's writers."""

    def __init__(self) -> None:
        self._pages: dict[str, ArchivedPage] = {}  # by place
        self._places: defaultdict[str, dict[_Key, list[str]]] = defaultdict(
            dict
        )  # places, by job and request

    def __repr__(self) -> str:
        return f"<MemoryArchive of {len(self._pages)} answers>"

    def open_writer(self, job: str, worker: str = "w1") -> MemoryArchiveWriter:
        """Return a worker's part of the archive of a job, which is named by its tag."""
        return MemoryArchiveWriter(self, job, worker)

    def keep_page(self, job: str, key: _Key, page: ArchivedPage) -> None:
        """Make a page readable."""
        place = page.entry.location.text
        self._pages[place] = page
        self._places[job].setdefault(key, []).append(place)

    async def read_page(self, place: str) -> ArchivedPage:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        if place not in self._pages:
            raise BlobMissingError(f"no answer at {place}")
        return self._pages[place]

    async def find_page(
        self, job: str, url: str, method: str = "GET", body: bytes = b"", variant: str = ""
    ) -> ArchiveEntry | None:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        places = self._places[job].get(_key_of(url, method, body), ())
        found = [self._pages[place].entry for place in places]
        own = [entry for entry in found if entry.variant == variant]
        return (own or found)[-1] if found else None

    async def list_pages(self, job: str) -> AsyncIterator[ArchiveEntry]:
        """See :class:`~gossamer.ports.archive_reader.ArchiveReader`."""
        found = []
        for places in self._places[job].values():
            good = [entry for entry in (self._pages[place].entry for place in places) if entry.status < 300]
            found += good[-1:]
        for entry in sorted(found, key=lambda entry: entry.at):
            yield entry


class MemoryArchiveWriter:
    """Port ``ArchiveWriter``: records that were not flushed are lost with it."""

    def __init__(self, archive: MemoryArchive, job: str, worker: str) -> None:
        self._archive = archive
        self._job = job
        self._file = f"{job}/{worker}-00001.warc.gz"
        self._written = 0
        self._unflushed: list[tuple[_Key, ArchivedPage]] = []

    async def write_exchange(self, request: Request, fetched: FetchResult) -> str:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        return self._keep_page(request, fetched)

    def queue_exchange(self, request: Request, fetched: FetchResult) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        self._keep_page(request, fetched)

    def _keep_page(self, request: Request, fetched: FetchResult) -> str:
        sent = fetched.raw.body if fetched.raw is not None else fetched.body
        location = ArchiveLocation(file=self._file, offset=self._written, length=len(sent) + 1)
        self._written += location.length
        entry = ArchiveEntry(
            url=request.url,
            method=request.method,
            at=fetched.started_at,
            status=fetched.status,
            content_type=fetched.header("content-type").partition(";")[0].strip(),
            digest=digest_of(sent),
            location=location,
            rung=fetched.rung,
            flags=fetched.flags,
            request_digest=digest_of(request.body) if request.body else "",
            variant=variant_of(request),
        )
        key = _key_of(request.url, request.method, request.body)
        self._unflushed.append((key, ArchivedPage(entry=entry, fetched=_as_archived(fetched, entry))))
        return location.text

    async def flush(self) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        for key, page in self._unflushed:
            self._archive.keep_page(self._job, key, page)
        self._unflushed.clear()

    async def close(self) -> None:
        """See :class:`~gossamer.ports.archive_writer.ArchiveWriter`."""
        await self.flush()


def _key_of(url: str, method: str, body: bytes) -> _Key:
    return url, method, body


def _as_archived(fetched: FetchResult, entry: ArchiveEntry) -> FetchResult:
    """Return an answer as it is read from an archive: without credentials and without data of its fetch
    alone.
    """
    headers = tuple((name, HIDDEN if name in SECRET_HEADERS else value) for name, value in fetched.headers)
    plain = FetchResult(
        url=fetched.url,
        status=fetched.status,
        headers=headers,
        body=fetched.body,
        started_at=fetched.started_at,
        latency_s=0.0,
        elapsed_s=0.0,
        rung=ARCHIVE_RUNG,
        flags=fetched.flags,
    )
    return replace(plain, archived=entry.location.text)


def digest_of(data: bytes) -> str:
    """Return ``sha1:BASE32`` by the standard library."""
    return f"sha1:{base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"
