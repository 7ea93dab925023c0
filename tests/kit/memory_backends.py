"""Back ends that keep everything in this process, as another package would bring them.

Everything that is opened at one URL is the same place, as it would be on a server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.results import AttemptRows
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.ports.clock import Clock
from gossamer.runtime.clock import SystemClock
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.actions import MemoryActionLog
from gossamer.store.memory.files import MemoryFileStore
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.result_versions import MemoryResultVersions
from gossamer.store.memory.schedules import MemoryScheduleStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.memory.tokens import MemoryTokenStore
from gossamer.wiring.schemes import BackendParts, FrontierScheme, StoreScheme


class PluginFrontier(MemoryFrontier):
    """The frontier of one job, with what only a back end is asked."""

    async def recover_leases(self, owner):
        return ()  # it ends with the process that holds its leases


class PluginFrontierBackend:
    """Port ``FrontierBackend`` in memory."""

    fleet = None

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.shared = MemorySharedState(self.clock)
        self.frontiers: dict[str, PluginFrontier] = {}

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> PluginFrontier:
        return self.frontiers.setdefault(job.id, PluginFrontier(rules, self.clock))

    def open_for_worker(self, job, rules, *, owner):
        return self.open_frontier(job, rules, owner=owner), None

    async def create_frontier(self, job, rules) -> None:
        self.open_frontier(job, rules)

    async def dedup_report(self, job) -> None:
        return None

    @asynccontextmanager
    async def lock_target(self, target: str) -> AsyncIterator[None]:
        yield

    async def at_work(self, job) -> None:
        return None

    async def withdraw_claims(self, job, at) -> None:
        pass  # each job has a pace of its own

    def blocking_writers(self) -> set[int]:
        return set()

    async def close(self) -> None:
        pass


class PluginLedgerReader:
    """The ledger of a store that is read only for the check of a crawl's items at its end."""

    async def page_attempts(self, job, limit, which, before_id=None) -> AttemptRows:
        return AttemptRows()

    async def read_samples(self, job, reason="", limit=50) -> list:
        return []


class PluginItemReader:
    """The items of a store that are read only for the same check."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    async def sample_items(self, job, limit, most_bytes) -> list:
        return [item async for item in self.store.read_items(job)][:limit]


class PluginStoreBackend:
    """Port ``StoreBackend`` in memory."""

    def __init__(self, clock: Clock) -> None:
        self.book = MemoryJobStore(clock)
        self.store = MemoryStore()
        self.ledger = PluginLedgerReader()
        self.series = self.store.series
        self.items = PluginItemReader(self.store)
        self.tokens = MemoryTokenStore()
        self.actions = MemoryActionLog()
        self.changes = None
        self.files = MemoryFileStore()
        self.known_pages = self.store.known
        self.profiles = MemoryProfileStore()
        self.versions = MemoryResultVersions()
        self.schedules = MemoryScheduleStore()

    async def prune_ledger(self, now: float) -> None:
        pass

    def blocking_writers(self) -> set[int]:
        return set()

    async def close(self) -> None:
        pass


@cache
def frontier_at(url: str) -> PluginFrontierBackend:
    return PluginFrontierBackend()


@cache
def store_at(url: str) -> PluginStoreBackend:
    return PluginStoreBackend(SystemClock())


async def open_frontier(url: str, parts: BackendParts) -> PluginFrontierBackend:
    return frontier_at(url)


async def open_store(url: str, parts: BackendParts, clock: Clock) -> PluginStoreBackend:
    return store_at(url)


async def check(url: str, settings) -> str:
    return "its version is unknown"


FRONTIER = FrontierScheme(open_frontier, check=check)
STORE = StoreScheme(open_store)
