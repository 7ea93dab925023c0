"""Opens the keeper of a job's files, and deletes files that no row names."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, StorageError, UsageError
from gossamer.core.files import SavedFile, StoredFile
from gossamer.core.jobs import Job
from gossamer.core.redaction import shown_server
from gossamer.core.results import ItemRecord
from gossamer.engine.file_keeper import FileKeeper, FileOptions, MakeThumbnails, Sizes
from gossamer.engine.file_sweep import GRACE_S, SweepResult, sweep_files
from gossamer.install import install_command
from gossamer.items.file import make_file_item
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.file_names import HEAD_BYTES
from gossamer.ports.blob_store import BlobStore
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.file_store import FileStore
from gossamer.runtime.spool import SpooledFile
from gossamer.wiring.backends import Backends
from gossamer.wiring.blobs import open_blobs
from gossamer.wiring.databases import database_path
from gossamer.wiring.fetchers import SPOOL

log = logging.getLogger("gossamer.crawl")


def open_keeper(settings: Settings, backends: Backends, job: Job, fetcher: Fetcher) -> FileKeeper:
    """Open the keeper of a job's files. Raises ``SettingError`` and ``MissingServiceError``."""
    said = settings.files
    return FileKeeper(
        job.id,
        fetcher,
        backends.files,
        open_files(settings),
        FileOptions(
            types=said.types,
            thumbnails={name: (width, height) for name, (width, height) in said.thumbnails.items()},
        ),
        store=_store_of(settings),
        clock=backends.clock,
        make_record=partial(_make_record, DefaultPipeline()),
        make_thumbnails=_thumbnail_maker(settings),
        spool_bytes=partial(_spool_bytes, Path(settings.data) / SPOOL),
    )


def open_files(settings: Settings) -> BlobStore:
    """Open the place of files. Raises ``SettingError`` and ``MissingServiceError``."""
    return open_blobs(place_of(settings), settings)


async def sweep(settings: Settings, files: FileStore, before: float, *, is_dry: bool = False) -> SweepResult:
    """Delete files that no row names and that are older than ``before``. Raises ``OperatorError``."""
    return await sweep_files(files, open_files(settings), before, store=_store_of(settings), is_dry=is_dry)


async def prune_files(
    settings: Settings, files: FileStore, now: float, *, always_sweeps: bool = False
) -> None:
    """Delete files that no crawl has seen for ``files.days``. Raises ``OperatorError``.

    Without ``always_sweeps`` the place is looked through only when something was forgotten.
    """
    days = settings.files.days
    if days is None or not (await files.forget_files(now - days * 86_400.0) or always_sweeps):
        return
    try:
        swept = await sweep(settings, files, now - GRACE_S)
    except UsageError as error:
        log.warning("files older than files.days are left in their place: %s", error)
        return
    log.info("files not seen for longer than files.days that were deleted: %d", swept.blobs)


def _store_of(settings: Settings) -> str:
    """Return the name of the store whose rows name the files; it stays the same when both are moved."""
    url = settings.store.url
    if url is not None and not url.startswith("sqlite:"):
        return shown_server(url)
    path, data = database_path(settings, url).resolve(), Path(settings.data).resolve()
    moves_along = settings.files.url is None and path.is_relative_to(data)
    return str(path.relative_to(data) if moves_along else path)


def place_of(settings: Settings) -> str:
    """Return the URL or path of the place of files."""
    return settings.files.url or str(Path(settings.data) / "files")


def _make_record(pipeline: DefaultPipeline, file: StoredFile, name: str, page: str) -> ItemRecord:
    return pipeline.build_record(make_file_item(file, name), page)


def _thumbnail_maker(settings: Settings) -> MakeThumbnails:
    if not settings.files.thumbnails:
        return _make_none
    try:
        module = import_module("gossamer.parse.thumbnails")
    except ImportError as error:
        raise MissingServiceError(
            f"files.thumbnails needs another package ({error.name} is missing): {install_command('images')}"
        ) from error
    maker: MakeThumbnails = module.ThumbnailMaker(settings.files.max_pixels).make_thumbnails
    return maker


async def _make_none(path: str, sizes: Sizes) -> Mapping[str, bytes]:
    return {}


async def _spool_bytes(folder: Path, data: bytes) -> SavedFile:
    """Return a body in memory as a file."""

    def spool() -> SavedFile:
        spooled = SpooledFile(folder)
        spooled.file.write(data)
        spooled.finish()
        return SavedFile(
            path=spooled.path,
            sha256=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            head=data[:HEAD_BYTES],
            held=spooled,
        )

    try:
        return await asyncio.to_thread(spool)
    except OSError as error:
        raise StorageError(f"{error.filename or folder}: {error.strerror or error}") from error
