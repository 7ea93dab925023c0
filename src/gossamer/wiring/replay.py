"""Jobs that are crawled again from their archive."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from math import inf
from pathlib import Path

from gossamer.archive.reader import has_answers
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.freshness import FIRST_PLACE, KnownPage
from gossamer.core.jobs import Job, tag_of
from gossamer.core.requests import Request
from gossamer.fetch.archived import ArchivedFetcher
from gossamer.frontier.codec import unpack_request
from gossamer.wiring.archives import open_place, open_reader, place_of
from gossamer.wiring.backends import Backends
from gossamer.wiring.blobs import folder_of

log = logging.getLogger("gossamer.crawl")

PART = 1000
"""Pages that are read at once."""


def open_archived(settings: Settings, job: str) -> ArchivedFetcher:
    """Open the only fetcher of a replay: the archived responses of a job, which is named by its tag."""
    return ArchivedFetcher(open_reader(settings, is_snapshot=True), job)


def find_archive(settings: Settings, begun: str, folder: Path) -> str:
    """Find the archive by its absolute place: by today's settings, else by those of the crawl's start.

    ``folder`` is where the crawl started.
    """
    if settings.archive.url or not begun:
        place, folder = place_of(settings), Path.cwd()
    else:
        place = begun
    found = folder_of(place)
    return place if found is None else str(folder / found)


async def read_visited(settings: Settings, backends: Backends, job: Job) -> AsyncIterator[Request]:
    """Yield the requests of pages in the archive of a re-crawl, if the known pages have them.

    An archive does not name the sessions of requests, so all known pages are read.
    """
    reader = open_reader(settings, is_snapshot=True)
    visited = {(entry.url, entry.method) async for entry in reader.list_pages(tag_of(job))}
    urls = {url for url, _ in visited}
    place = FIRST_PLACE
    while urls and (pages := await backends.known_pages.read_due(job.name, inf, place, PART)):
        for page in pages:
            request = _request_for(page) if page.url in urls else None
            if request is not None and (request.url, request.method) in visited:
                yield request
        place = pages[-1].due_at, pages[-1].fingerprint


def _request_for(page: KnownPage) -> Request | None:
    """Return the request of a known page; ``None``, with a warning, if it cannot be read."""
    try:
        return unpack_request(page.request, page.host)
    except StorageError as error:
        log.warning("%s is not parsed again: %s", page.url, error)
        return None


async def has_pages(settings: Settings, archive: str, job: str) -> bool:
    """Whether an archive has any answer of a job. Raises ``StorageError`` for one that cannot be read."""
    said = settings.archive.model_copy(update={"url": archive})
    return await has_answers(open_place(settings.model_copy(update={"archive": said})), job)
