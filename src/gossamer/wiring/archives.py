"""Opens archives by the settings, to write a job's responses and to read them."""

from __future__ import annotations

import logging
from pathlib import Path

from gossamer.archive.depot import ArchiveDepot, delete_files
from gossamer.archive.reader import WarcReader
from gossamer.archive.writer import REFERS_FOR_S, ArchiveOptions, WarcWriter
from gossamer.config.settings import Settings
from gossamer.core.jobs import Job, tag_of
from gossamer.engine.archiving_committer import ArchivingCommitter
from gossamer.fetch.archiving import ArchivingFetcher
from gossamer.ports.archive_reader import ArchiveReader
from gossamer.ports.archive_writer import ArchiveWriter
from gossamer.ports.blob_store import BlobStore
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.wiring.blobs import folder_of, open_blobs

log = logging.getLogger("gossamer.crawl")

SPOOL = "archive-spool"
"""The folder of the data directory in which files stand until they are in their bucket."""


class JobArchive:
    """One worker's part of a job's archive, on its way between fetcher and committer."""

    def __init__(self, writer: ArchiveWriter, *, keeps_robots: bool, says_places: bool) -> None:
        self._writer = writer
        self._keeps_robots = keeps_robots
        self._says_places = says_places

    def wrap_fetcher(self, fetcher: Fetcher) -> Fetcher:
        """Return a fetcher that archives the responses."""
        return ArchivingFetcher(
            fetcher,
            self._writer,
            keeps_robots=self._keeps_robots,
            says_places=self._says_places,
        )

    def wrap_committer(self, committer: Committer) -> Committer:
        """Return a committer that also commits the archive."""
        return ArchivingCommitter(committer, self._writer)

    async def close(self) -> None:
        """Finish the files. Raises ``StorageError``."""
        await self._writer.close()


async def open_archive(settings: Settings, job: Job) -> JobArchive:
    """Open the archive of one worker of a job. Raises the errors of ``open_writer``."""
    writer = await open_writer(settings, job)
    return JobArchive(
        writer,
        keeps_robots=settings.archive.what == "all",
        says_places=settings.extract.deferred,  # an extraction is asked for by its page's place
    )


async def open_writer(settings: Settings, job: Job) -> ArchiveWriter:
    """Open the writer of one worker, and repair the job's files that killed workers left on this machine.

    Raises ``SettingError``, ``MissingServiceError`` and ``StorageError``.
    """
    said = settings.archive
    options = ArchiveOptions(
        max_file_bytes=said.max_file_bytes,
        revisits=said.revisits,
        keeps_credentials=said.keep_credentials,
        is_synced=settings.sqlite.synchronous == "full",
        publishes_turns=settings.extract.deferred and folder_of(place_of(settings)) is None,
    )
    depot = open_depot(settings)
    await check_archive(settings)  # before the first page, not when the first file is full
    await depot.recover_files(tag_of(job))
    return WarcWriter(depot, tag_of(job), options)


def open_reader(settings: Settings, *, is_snapshot: bool = False) -> ArchiveReader:
    """Open the archive of all jobs. Raises ``SettingError`` and ``MissingServiceError``."""
    return WarcReader(open_place(settings), is_snapshot=is_snapshot)


def open_depot(settings: Settings) -> ArchiveDepot:
    """Open the depot, where files of the archive are written and uploaded. Raises as :func:`open_reader`."""
    folder = folder_of(place_of(settings))
    if folder is not None:
        return ArchiveDepot(open_place(settings), folder, is_final=True)
    return ArchiveDepot(open_place(settings), Path(settings.data) / SPOOL, is_final=False)


def open_place(settings: Settings) -> BlobStore:
    """Open the place of the archive. Raises as :func:`open_reader`."""
    return open_blobs(place_of(settings), settings)


def is_there(settings: Settings) -> bool:
    """Whether there may be something in the archive."""
    folder = folder_of(place_of(settings))
    return folder is None or folder.is_dir()


async def prune_archive(settings: Settings, now: float) -> None:
    """Delete files that have not changed for ``archive.days`` and one day more. Raises ``OperatorError``.

    A worker refers to a body for a day, so what answers of the last ``archive.days`` refer to is there. An
    older one, in a file that was written to for longer than a day, may outlive its body.
    """
    days = settings.archive.days
    if days is None or not is_there(settings):
        return
    before = now - days * 86_400.0 - REFERS_FOR_S
    deleted = await open_depot(settings).delete_abandoned(before)
    deleted += await delete_files(open_place(settings), before)
    if deleted:
        log.info("files of the archive older than archive.days that were deleted: %d", deleted)


async def check_archive(settings: Settings) -> str | None:
    """Raises ``OperatorError`` where the archive's bucket cannot be used; ``None``: there is none.

    Empty: nothing is wrong.
    """
    if not settings.archive.is_on or folder_of(place_of(settings)) is not None:
        return None
    async for _ in open_place(settings).list_blobs("doctor/"):
        break
    return ""


def place_of(settings: Settings) -> str:
    """Return the URL or path of the archive."""
    return settings.archive.url or str(Path(settings.data) / "archive")
