"""Parts for the check of a job's items, by the settings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from importlib import import_module

from gossamer.config.settings import Settings
from gossamer.core.archive import ArchiveEntry
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job, tag_of
from gossamer.core.results import PLAIN_TYPE
from gossamer.ports.archive_reader import ArchiveReader
from gossamer.targets.plan import plan_from
from gossamer.watch.item_quality import QualityParts
from gossamer.wiring.backends import Backends


def quality_parts_of(settings: Settings, backends: Backends) -> QualityParts:
    """Return the parts for the check of items: the places of a crawl, and the rules."""
    ours = settings.quality
    return QualityParts(
        store=backends.store,
        items=backends.items,
        ledger=backends.ledger,
        book=backends.book,
        profiles=backends.profiles,
        clock=backends.clock,
        sample=ours.sample,
        baseline_jobs=ours.baseline_jobs,
        drift=ours.drift,
        declare=read_declared,
        find_page=PageReader(settings).find_page if settings.archive.is_on else None,
    )


def read_declared(job: Job, types: Iterable[str]) -> dict[str, str] | None:
    """Return the kinds that a fleet's job declares for the fields of these types of items.

    ``None``: unknown, as for a crawl of this machine, or a type that was not known when the job was
    submitted.
    """
    if not job.is_fleet:
        return None
    with contextlib.suppress(StorageError):  # the worker of the job reports a plan that cannot be read
        declared = plan_from(job.plan).declared
        known = {name.partition(".")[0] for name in declared or ()}
        if declared is not None and known.issuperset(types := set(types) - {PLAIN_TYPE}):
            return {name: kind for name, kind in declared.items() if name.partition(".")[0] in types}
    return None


class PageReader:
    """Finds pages in the archive, which is opened for the first of them: most jobs have no findings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader: ArchiveReader | None = None

    async def find_page(self, job: Job, url: str) -> ArchiveEntry | None:
        """Return the archived entry of a page. Raises ``StorageError``."""
        if self._reader is None:
            reader: ArchiveReader = import_module("gossamer.wiring.archives").open_reader(self._settings)
            self._reader = reader
        return await self._reader.find_page(tag_of(job), url)
