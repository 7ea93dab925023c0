"""The rung ``archive``: pages from an archive, as if they were fetched. No network."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from msgspec.structs import replace

from gossamer.core.archive import ARCHIVE_RUNG
from gossamer.core.errors import ArchiveDamagedError, BlobMissingError, Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.policy.request_variants import variant_of
from gossamer.policy.validators import NOT_MODIFIED, is_question
from gossamer.ports.archive_reader import ArchiveReader

log = logging.getLogger("gossamer.crawl")


class ArchivedFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher` that answers from the archive of one job.

    A request that names a place gets the page there. Any other request gets the job's latest answer to it;
    of several answers to one URL, the one with the same session, headers and cookies. A missing robots.txt
    is answered by 404. Any other missing page raises ``NOT_ARCHIVED``, and so does a page that was not sent
    because it had not changed.
    """

    rung = ARCHIVE_RUNG
    touches_network = False

    def __init__(self, reader: ArchiveReader, job: str) -> None:
        self._reader = reader
        self._job = job
        self._damaged: set[str] = set()  # files already reported

    def __repr__(self) -> str:
        return f"ArchivedFetcher({self._reader!r}, {self._job!r})"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Return the page as it was fetched. Raises ``StorageError`` if the archive cannot be read at all."""
        place = request.archived or await self._find_place(request)
        if not place:
            if urlsplit(request.url).path == "/robots.txt":
                return _no_robots(request)
            raise FetchError(Fault.NOT_ARCHIVED, "the archive has no answer to it", rung=self.rung)
        try:
            page = await self._reader.read_page(place)
        except (ArchiveDamagedError, BlobMissingError) as error:
            self._tell_damage(place.partition(":")[0], error)
            raise FetchError(Fault.NOT_ARCHIVED, str(error), rung=self.rung) from error
        if page.fetched.status == NOT_MODIFIED and not is_question(request.headers):
            raise FetchError(Fault.NOT_ARCHIVED, "it had not changed, so it was not sent", rung=self.rung)
        return page.fetched if page.fetched.url == request.url else replace(page.fetched, url=request.url)

    async def _find_place(self, request: Request) -> str:
        asked = request.url, request.method, request.body
        entry = await self._reader.find_page(self._job, *asked, variant=variant_of(request))
        return "" if entry is None else entry.location.text

    def _tell_damage(self, file: str, error: Exception) -> None:
        """Once of each file; the ledger has each page."""
        if file not in self._damaged:
            self._damaged.add(file)
            log.warning("%s; its page is missing, and there may be more of this file", error)

    async def close(self) -> None:
        """No-op."""


def _no_robots(request: Request) -> FetchResult:
    return FetchResult(
        url=request.url,
        status=404,
        headers=(("content-type", "text/plain"),),
        body=b"",
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung=ArchivedFetcher.rung,
    )
