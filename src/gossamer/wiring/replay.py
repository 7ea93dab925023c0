"""Jobs crawled again from what an archive has of them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

from gossamer.archive.reader import has_answers
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job, tag_of
from gossamer.core.requests import Request
from gossamer.fetch.archived import ArchivedFetcher
from gossamer.frontier.codec import unpack_request
from gossamer.policy.freshness import known_fingerprint_of
from gossamer.wiring.archives import open_place, open_reader, place_of
from gossamer.wiring.backends import Backends
from gossamer.wiring.blobs import folder_of

log = logging.getLogger("gossamer.crawl")

PART = 500
"""Pages that are looked up at once."""


def open_archived(settings: Settings, job: str) -> ArchivedFetcher:
    """The only way to fetch of a replay: the archived answers of a job, which is named by its tag."""
    return ArchivedFetcher(open_reader(settings, is_snapshot=True), job)


def find_archive(settings: Settings, begun: str, folder: Path) -> str:
    """The archive, as it can be named from anywhere: by the settings of today, else as a crawl was begun.

    ``folder`` is where that was.
    """
    if settings.archive.url or not begun:
        place, folder = place_of(settings), Path.cwd()
    else:
        place = begun
    found = folder_of(place)
    return place if found is None else str(folder / found)


async def read_visited(settings: Settings, backends: Backends, job: Job) -> AsyncIterator[Request]:
    """The requests for pages that the archive of a re-crawl has, as it is known how they are asked for."""
    reader, part = open_reader(settings, is_snapshot=True), list[int]()
    async for entry in reader.list_pages(tag_of(job)):
        part.append(known_fingerprint_of(Request(entry.url, method=entry.method)))
        if len(part) == PART:
            for request in await _read_known(backends, job, part):
                yield request
            part = []
    for request in await _read_known(backends, job, part):
        yield request


async def _read_known(backends: Backends, job: Job, fingerprints: list[int]) -> list[Request]:
    found = []
    for page in (await backends.known_pages.find_pages(job.name, fingerprints)).values():
        try:
            found.append(unpack_request(page.request, page.host))
        except StorageError as error:
            log.warning("%s is not parsed again: %s", page.url, error)
    return found


async def has_pages(settings: Settings, archive: str, job: str) -> bool:
    """Whether an archive has any answer of a job. Raises ``StorageError`` for one that cannot be read."""
    said = settings.archive.model_copy(update={"url": archive})
    return await has_answers(open_place(settings.model_copy(update={"archive": said})), job)
