"""The cache of fetched pages that crawls of one data directory share."""

from __future__ import annotations

from pathlib import Path

from gossamer.archive.depot import ArchiveDepot
from gossamer.archive.reader import WarcReader
from gossamer.archive.writer import WarcWriter
from gossamer.blobs.folder import FolderBlobStore
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.fetch.cached import CACHE_JOB, CachedFetcher
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.rules import block_rules_of

FOLDER = "cache"
"""Folder in the data directory."""


async def open_cache(
    settings: Settings, target: CrawlTarget, job: Job, clock: Clock, fetcher: Fetcher
) -> CachedFetcher:
    """Put the cache before a fetcher. Raises ``UsageError`` for a re-crawl, or a spider that logs in."""
    if target.logs_in:
        raise UsageError(
            f"spider {target.spider.name!r} logs in, and the cache keeps no cookies: crawl without --cache"
        )
    if settings.freshness.recrawl != "off":
        raise UsageError(
            "a re-crawl asks sites for changes, and the cache would answer in their place: crawl "
            "without --cache"
        )
    folder = (Path(settings.data) / FOLDER).absolute()
    blobs = FolderBlobStore(folder)
    depot = ArchiveDepot(blobs, folder, is_final=True)
    await depot.recover_files(CACHE_JOB)
    return CachedFetcher(
        fetcher,
        WarcReader(blobs, is_snapshot=True),
        WarcWriter(depot, CACHE_JOB),
        clock,
        max_age_s=settings.cache.max_age,
        began_at=job.created_at,
        blocks=block_rules_of(settings),
    )
