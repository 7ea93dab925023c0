"""Crawls that are kept in the memory of their process alone: no file is made, and nothing is left of them.

Each crawl has a place of its own, so the same spider may run several times at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError, StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.requests import Lease
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.runtime.clock import SystemClock
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.actions import MemoryActionLog
from gossamer.store.memory.files import MemoryFileStore
from gossamer.store.memory.items import MemoryItemReader
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.ledger import MemoryLedgerReader
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.result_versions import MemoryResultVersions
from gossamer.store.memory.schedules import MemoryScheduleStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.memory.tokens import MemoryTokenStore


class AloneFrontier(MemoryFrontier):
    """A frontier whose only worker is of its own process."""

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """Return nothing: this process is the only holder of leases."""
        return ()


class MemoryFrontierBackend:
    """Port ``FrontierBackend`` for one crawl."""

    fleet = None

    def __init__(self) -> None:
        self.clock: Clock = SystemClock()
        self.shared = MemorySharedState(self.clock)
        self._frontiers: dict[str, AloneFrontier] = {}

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> AloneFrontier:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        if job.id not in self._frontiers:
            self._frontiers[job.id] = AloneFrontier(rules, self.clock)
        return self._frontiers[job.id]

    def open_for_worker(
        self, job: Job, rules: FrontierRules, *, owner: str
    ) -> tuple[AloneFrontier, Committer | None]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return self.open_frontier(job, rules), None

    async def create_frontier(self, job: Job, rules: FrontierRules) -> None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        self.open_frontier(job, rules)

    async def dedup_report(self, job: Job) -> None:
        """Nothing: memory knows its URLs exactly."""

    @asynccontextmanager
    async def lock_target(self, target: str) -> AsyncIterator[None]:
        """Lock nothing: no other process has this place."""
        yield

    async def at_work(self, job: Job) -> str | None:
        """Return ``None``: only this process has the job."""
        return None

    async def withdraw_claims(self, job: Job, at: float) -> None:
        """No-op: this place has only one job."""

    def blocking_writers(self) -> set[int]:
        """Return nothing: no other process writes."""
        return set()

    async def close(self) -> None:
        """Nothing: its requests end with the crawl."""


class MemoryStoreBackend:
    """Port ``StoreBackend`` for one crawl; it can still be read when it is closed."""

    changes = None

    def __init__(self, clock: Clock) -> None:
        self.book = MemoryJobStore(clock)
        self.store = MemoryStore()
        self.ledger = MemoryLedgerReader(self.store)
        self.series = self.store.series
        self.items = MemoryItemReader(self.store)
        self.tokens = MemoryTokenStore()
        self.actions = MemoryActionLog()
        self.files = MemoryFileStore()
        self.known_pages = self.store.known
        self.profiles = MemoryProfileStore()
        self.versions = MemoryResultVersions()
        self.schedules = MemoryScheduleStore()

    async def prune_ledger(self, now: float) -> None:
        """Nothing: it ends with the crawl."""

    def blocking_writers(self) -> set[int]:
        """Return nothing: no other process writes."""
        return set()

    async def close(self) -> None:
        """No-op: results stay readable after close."""


def open_memory(settings: Settings, *, create: bool) -> tuple[MemoryFrontierBackend, MemoryStoreBackend]:
    """Open a new place in memory.

    Raises ``SettingError`` for settings that need a disk or a server, and ``StorageError`` unless ``create``:
    the memory of another process cannot be read.
    """
    if not create:
        raise StorageError(
            "there is no crawl to look into: with memory = true crawls leave nothing behind; to look into "
            "those of a data directory, give -s memory=false"
        )
    check_memory(settings)
    requests = MemoryFrontierBackend()
    return requests, MemoryStoreBackend(requests.clock)


def check_memory(settings: Settings) -> None:
    """Raise ``SettingError`` for settings that a crawl in memory cannot follow."""
    unfit = {
        "processes": settings.processes > 1,
        "outputs": bool(settings.outputs),
        "archive": settings.archive.is_on,
        "cache.on": settings.cache.on,
        "freshness": settings.freshness.is_on,
        "replay.job": settings.replay.job is not None,
    }
    if wrong := [name for name, is_set in unfit.items() if is_set]:
        raise SettingError(
            f"memory = true does not go with {wrong[0]}: a crawl in memory is of one process and writes "
            f"nothing; leave out one of the two"
        )
