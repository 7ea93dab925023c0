"""Stores responses as files: first the bytes in the place of files, then a row in the store.

This order is safe. Bytes are stored before a row names them, and a row is written before the request is
settled: a kill in between leaves at most bytes that no row names, which are swept, and the request is
repeated. Bytes that a row names are not stored again, and recently seen bytes are not deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, FetchError
from gossamer.core.files import SavedFile, StoredFile
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult, ItemRecord
from gossamer.core.routes import DIRECT, Route
from gossamer.policy.file_names import is_raster, is_wanted, name_blob, name_owner, name_thumbnail, read_type
from gossamer.policy.retry import fault_of_status
from gossamer.policy.validators import NOT_MODIFIED, is_conditional, question_of, validator_of
from gossamer.ports.blob_store import BlobStore
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.file_store import FileStore

BROKEN = "broken_picture"
"""The flag, and the reason, of a picture that no thumbnails can be made of."""
_PERSONAL = frozenset({"authorization", "cookie"})
WHOLE = frozenset({200, 203})
"""Statuses of answers that are a file, and all of it."""

Sizes = Mapping[str, tuple[int, int]]
MakeThumbnails = Callable[[str, Sizes], Awaitable[Mapping[str, bytes]]]
"""From the path of a picture to smaller ones by the names of their sizes; ``ValueError``: it is broken."""
MakeRecord = Callable[[StoredFile, str, str], ItemRecord]
"""From a file, its name for people and the page that led to it, to its item."""


class FileOptions(Record, frozen=True, kw_only=True):
    """Options for files."""

    types: tuple[str, ...] = ()  # the media types that are wanted; none: all
    thumbnails: Sizes = {}  # the sizes that pictures are also kept in, by name: the most pixels each way


class FileKeeper:
    """Fetches files for one worker of a job, and stores them.

    ``spool_bytes`` makes a file of a response that a fetcher returned in memory. ``store`` is the name of the
    store of ``files``, which is recorded in the place of ``blobs``.
    """

    def __init__(
        self,
        job: str,
        fetcher: Fetcher,
        files: FileStore,
        blobs: BlobStore,
        options: FileOptions,
        *,
        store: str,
        clock: Clock,
        make_record: MakeRecord,
        make_thumbnails: MakeThumbnails,
        spool_bytes: Callable[[bytes], Awaitable[SavedFile]],
    ) -> None:
        self._job = job
        self._fetcher = fetcher
        self._files = files
        self._blobs = blobs
        self._store_name = store
        self._telling = asyncio.Lock()
        self._is_told = False  # the place, whose files are there
        self._clock = clock
        self._options = options
        self._make_record = make_record
        self._make_thumbnails = make_thumbnails
        self._spool_bytes = spool_bytes
        self._unchanged: dict[str, StoredFile] = {}  # by URL, until they are seen again

    def __repr__(self) -> str:
        return f"FileKeeper({self._job!r}, {self._blobs!r})"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Fetch a file; a file that is unchanged since a job last saw it has the status 304.

        Raises as :class:`~gossamer.ports.fetcher.Fetcher`, and ``StorageError``.
        """
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        known = await self._find_known(request)
        if known is not None:
            headers |= question_of(known.etag, known.modified)
        own = {name.lower() for name in request.headers}
        added = {name: value for name, value in headers.items() if name.lower() not in own}
        asked = request.replace(headers={**request.headers, **added})
        fetched = await self._fetcher.fetch(asked, route)
        if known is not None and fetched.status == NOT_MODIFIED:
            self._unchanged[_asked_url(request)] = known
        return fetched

    async def keep_file(self, request: Request, fetched: FetchResult) -> tuple[ItemRecord, dict[str, int]]:
        """Return the item of a stored file, and the counts of dropped parts.

        Raises :class:`FetchError` for an incomplete file or an unwanted type, and ``StorageError``.
        """
        dropped: dict[str, int] = {}
        if fetched.status == NOT_MODIFIED:
            file = await self._see_again(request)
        else:
            saved = await self._take_body(fetched)
            file = await self._store(request, fetched, saved, dropped)
        await self._files.save_file(file)
        if await self._blobs.stat_blob(file.blob) is None:
            raise FetchError(Fault.INCOMPLETE, "its bytes were swept while it was noted")
        assert request.saves is not None
        return self._make_record(file, request.saves.name, request.via), dropped

    async def _take_body(self, fetched: FetchResult) -> SavedFile:
        """Return the complete body in a file. Raises :class:`FetchError`."""
        if fetched.status not in WHOLE:
            fault = fault_of_status(fetched.status) or Fault.INCOMPLETE
            raise FetchError(fault, f"status {fetched.status} brings no file")
        if TRUNCATED in fetched.flags:
            raise FetchError(Fault.INCOMPLETE, "its body was cut, and a part of a file is none")
        saved = fetched.saved or await self._spool_bytes(fetched.body)
        if not saved.size_bytes:
            raise FetchError(Fault.INCOMPLETE, "the file is empty")
        return saved

    async def _store(
        self, request: Request, fetched: FetchResult, saved: SavedFile, dropped: dict[str, int]
    ) -> StoredFile:
        kind = read_type(fetched.content_type, saved.head)
        if not is_wanted(kind, self._options.types):
            raise FetchError(
                Fault.UNWANTED, f"it is {kind}, and files.types has {', '.join(self._options.types)}"
            )
        now = self._clock.now()
        known = await self._files.see_body(saved.sha256, now)
        blob = name_blob(saved.sha256, kind) if known is None else known.blob
        if known is None or await self._blobs.stat_blob(blob) is None:
            await self._tell_place()
            await self._blobs.put_file(blob, Path(saved.path))
        return StoredFile(
            job=self._job,
            url=_asked_url(request),
            sha256=saved.sha256,
            blob=blob,
            size_bytes=saved.size_bytes,
            type=kind,
            thumbnails=await self._keep_thumbnails(kind, saved, dropped),
            etag=validator_of(fetched, "etag"),
            modified=validator_of(fetched, "last-modified"),
            stored_at=now,
            last_seen=now,
        )

    async def _tell_place(self) -> None:
        async with self._telling:
            if not self._is_told:
                await self._blobs.put_bytes(name_owner(self._store_name), f"{self._store_name}\n".encode())
                self._is_told = True

    async def _keep_thumbnails(self, kind: str, saved: SavedFile, dropped: dict[str, int]) -> tuple[str, ...]:
        """Store the thumbnails of a picture and return their names; a broken picture has none."""
        sizes = self._options.thumbnails
        if not sizes or not is_raster(kind):
            return ()
        try:
            pictures = await self._make_thumbnails(saved.path, sizes)
        except ValueError:
            dropped[DropKind.FILE.key_of(BROKEN)] = 1
            return ()
        for size, data in pictures.items():
            await self._blobs.put_bytes(name_thumbnail(saved.sha256, size), data)
        return tuple(pictures)

    # ------------------------------------------------------------------ files that a job has seen before

    async def _find_known(self, request: Request) -> StoredFile | None:
        """Return the row of a file that a job has seen, if the file and all its parts are still stored."""
        if request.method != "GET" or request.body or _is_somebodys(request):
            return None
        known = await self._files.find_file(_asked_url(request))
        if known is None or not (known.etag or known.modified):
            return None
        if not is_wanted(known.type, self._options.types) or not self._has_sizes(known):
            return None
        names = (known.blob, *(name_thumbnail(known.sha256, size) for size in known.thumbnails))
        for name in names:
            if await self._blobs.stat_blob(name) is None:
                return None
        return known

    def _has_sizes(self, known: StoredFile) -> bool:
        return not is_raster(known.type) or {*known.thumbnails} == {*self._options.thumbnails}

    async def _see_again(self, request: Request) -> StoredFile:
        """Return the row of this job for a file that has not changed. Raises :class:`FetchError`."""
        now = self._clock.now()
        known = self._unchanged.pop(_asked_url(request), None)
        seen = None if known is None else await self._files.see_body(known.sha256, now)
        if known is None or seen is None:  # deleted meanwhile, or the request was not conditional
            raise FetchError(Fault.PROTOCOL, "status 304 for a file that is not here")
        return replace(known, job=self._job, blob=seen.blob, stored_at=now, last_seen=now)


def _is_somebodys(request: Request) -> bool:
    """Whether the response may be meant for one visitor, or is compared with the user's own copy."""
    return (
        bool(request.session or request.auth or request.cookies)
        or is_conditional(request.headers)
        or not _PERSONAL.isdisjoint(name.lower() for name in request.headers)
    )


def _asked_url(request: Request) -> str:
    """Return the URL of the first request for the file, before any redirect."""
    return request.redirects[0] if request.redirects else request.url
