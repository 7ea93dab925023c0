"""What the supervisor that leads a fleet sees to: old requests, old rows of the ledger, old counters."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.jobs.retention import RetentionDuty
from gossamer.ports.backends import StoreBackend
from gossamer.ports.duty import Duty
from gossamer.ports.series import Series
from gossamer.wiring.backends import Backends


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


def duties_of(settings: Settings, backends: Backends) -> tuple[Duty, ...]:
    """The duties of a fleet; a further one is added here."""
    return LedgerDuty(backends.keeping), RetentionDuty(settings, backends), SeriesDuty(backends.series)
