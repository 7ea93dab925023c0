"""Duties of the supervisor that leads a fleet: old data, and the items of jobs that have ended."""

from __future__ import annotations

from importlib import import_module

from gossamer.config.settings import Settings
from gossamer.jobs.delayed_actions import LOOK_S, finish_due
from gossamer.jobs.quality_duty import QualityDuty
from gossamer.jobs.retention import RetentionDuty
from gossamer.jobs.schedule_duty import ScheduleDuty
from gossamer.ports.backends import StoreBackend
from gossamer.ports.duty import Duty
from gossamer.ports.series import Series
from gossamer.wiring.backends import Backends

DAY_S = 86_400.0


class LedgerDuty:
    """Rows of the ledger that are older than ``store.ledger_days`` are dropped."""

    name = "ledger"
    every_s = 3600.0

    def __init__(self, keeping: StoreBackend) -> None:
        self._keeping = keeping

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        await self._keeping.prune_ledger(now)


class SeriesDuty:
    """Counters of more than a day ago are folded into hours."""

    name = "series"
    every_s = 3600.0

    def __init__(self, series: Series) -> None:
        self._series = series

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        await self._series.fold_buckets(now)


class ActionDuty:
    """Actions are carried out to their end whose process has ended before, such as a dashboard's cancel."""

    name = "actions"
    every_s = LOOK_S

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        await finish_due(self._backends)


class ArchiveDuty:
    """Files of the archive that are older than ``archive.days`` are deleted."""

    name = "archive"
    every_s = 3600.0

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        await import_module("gossamer.wiring.archives").prune_archive(self._settings, now)


class FileDuty:
    """Deletes files that no crawl has seen for ``files.days``; once a day, also the remains of killed
    workers.
    """

    name = "files"
    every_s = 3600.0

    def __init__(self, settings: Settings, keeping: StoreBackend) -> None:
        self._settings = settings
        self._keeping = keeping
        self._sweeps_at = 0.0

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        files, sweeps = self._keeping.files, now >= self._sweeps_at
        prune_files = import_module("gossamer.wiring.files").prune_files
        await prune_files(self._settings, files, now, always_sweeps=sweeps)
        if sweeps:
            self._sweeps_at = now + DAY_S


def duties_of(settings: Settings, backends: Backends) -> tuple[Duty, ...]:
    """Return the duties of a fleet; a further one is added here."""
    ours: list[Duty] = [
        ActionDuty(backends),
        LedgerDuty(backends.keeping),
        QualityDuty(settings, backends),
        RetentionDuty(settings, backends),
        ScheduleDuty(backends),
        SeriesDuty(backends.series),
    ]
    if settings.archive.days is not None:
        ours.append(ArchiveDuty(settings))
    if settings.files.days is not None:
        ours.append(FileDuty(settings, backends.keeping))
    if settings.outputs:
        ours += import_module("gossamer.wiring.outputs").output_duties(settings, backends.keeping)
    return tuple(ours)
