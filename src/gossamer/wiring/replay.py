"""Jobs crawled again from what an archive has of them."""

from __future__ import annotations

from pathlib import Path

from gossamer.archive.reader import has_answers
from gossamer.config.settings import Settings
from gossamer.fetch.archived import ArchivedFetcher
from gossamer.wiring.archives import open_place, open_reader, place_of
from gossamer.wiring.blobs import folder_of


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


async def has_pages(settings: Settings, archive: str, job: str) -> bool:
    """Whether an archive has any answer of a job. Raises ``StorageError`` for one that cannot be read."""
    said = settings.archive.model_copy(update={"url": archive})
    return await has_answers(open_place(settings.model_copy(update={"archive": said})), job)
