"""Crawls kept in SQLite files of a data directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.drivers.sqlite.committer import SameFileCommitter
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.ports.file_store import FileStore
from gossamer.ports.known_page_store import KnownPageStore
from gossamer.runtime.clock import SystemClock
from gossamer.runtime.file_lock import JobLock, lock_holder
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.store.sqlite.actions import SqliteActionLog
from gossamer.store.sqlite.changes import SqliteChangeFeed
from gossamer.store.sqlite.items import SqliteItemReader
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.profiles import SqliteProfileStore
from gossamer.store.sqlite.result_versions import SqliteResultVersions
from gossamer.store.sqlite.series import SqliteSeries
from gossamer.store.sqlite.store import SqliteStore
from gossamer.store.sqlite.tokens import SqliteTokenStore
from gossamer.wiring.databases import DatabasePool, database_path
from gossamer.wiring.schemes import BackendParts

if TYPE_CHECKING:  # no crawl asks for schedules
    from gossamer.ports.schedule_store import ScheduleStore


class SqliteFrontierBackend:
    """Requests in a file; everybody who works on them is on this machine."""

    fleet = None

    def __init__(self, settings: Settings, databases: DatabasePool) -> None:
        self._databases = databases
        self._folder = database_path(settings, settings.frontier.url).absolute().parent
        self.clock: Clock = SystemClock()
        self.shared = SqliteSharedState(databases.frontier_database, self.clock)

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> SqliteFrontier:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return SqliteFrontier(self._databases.frontier_database, job.id, rules, self.clock, owner=owner)

    def open_for_worker(
        self, job: Job, rules: FrontierRules, *, owner: str
    ) -> tuple[SqliteFrontier, Committer | None]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        frontier = self.open_frontier(job, rules, owner=owner)
        database, write = self._databases.frontier_database, self._databases.write_within
        if write is None or database is not self._databases.store_database:
            return frontier, None
        return frontier, SameFileCommitter(
            database, frontier.settle_within, frontier.known_within, write, job
        )

    async def create_frontier(self, job: Job, rules: FrontierRules) -> None:
        """Nothing: a frontier is made when it is opened."""

    async def dedup_report(self, job: Job) -> None:
        """Nothing: a file knows its URLs exactly."""

    @asynccontextmanager
    async def lock_target(self, target: str) -> AsyncIterator[None]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        with JobLock(self._folder, target):
            yield

    async def at_work(self, job: Job) -> str | None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return lock_holder(self._folder, job.target) or None

    async def withdraw_claims(self, job: Job, at: float) -> None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        await self.open_frontier(job, FrontierRules()).withdraw_claims(at)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return self._databases.blocking_writers()

    async def close(self) -> None:
        """Close the files."""
        self._databases.close()


class SqliteStoreBackend:
    """Jobs, items, pages and ledger in a file."""

    def __init__(self, settings: Settings, databases: DatabasePool, clock: Clock) -> None:
        ours = settings.store
        self._databases = databases
        self.book = SqliteJobStore(databases.store_database, clock)
        self.store = SqliteStore(
            databases.store_database,
            min_interval_s=ours.min_interval,
            history=ours.history,
            follows_changes=bool(settings.outputs),
            ledger_days=ours.ledger_days,
        )
        databases.write_within = self.store.write_within
        self.ledger = SqliteLedgerReader(databases.store_database)
        self.series = SqliteSeries(databases.store_database)
        self.items = SqliteItemReader(databases.store_database)
        self.tokens = SqliteTokenStore(databases.store_database)
        self.actions = SqliteActionLog(databases.store_database)
        self.changes = SqliteChangeFeed(databases.store_database)
        self.profiles = SqliteProfileStore(databases.store_database)
        self.versions = SqliteResultVersions(databases.store_database)

    @property
    def files(self) -> FileStore:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        room = import_module("gossamer.store.sqlite.files")  # most crawls have no files
        store: FileStore = room.SqliteFileStore(self._databases.store_database)
        return store

    @property
    def known_pages(self) -> KnownPageStore:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        room = import_module("gossamer.store.sqlite.known_pages")  # nor look at their pages again
        store: KnownPageStore = room.SqliteKnownPageStore(self._databases.store_database)
        return store

    @property
    def schedules(self) -> ScheduleStore:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        room = import_module("gossamer.store.sqlite.schedules")  # no crawl asks for them
        store: ScheduleStore = room.SqliteScheduleStore(self._databases.store_database)
        return store

    async def prune_ledger(self, now: float) -> None:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        await self.store.prune_ledger(now)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        return self._databases.blocking_writers()

    async def close(self) -> None:
        """Close the files."""
        self._databases.close()


async def open_frontier(url: str | None, parts: BackendParts) -> SqliteFrontierBackend:
    """Open the requests in the file that the settings name."""
    return SqliteFrontierBackend(parts.settings, parts.databases)


async def open_store(url: str | None, parts: BackendParts, clock: Clock) -> SqliteStoreBackend:
    """Jobs, items, pages and ledger in the file that the settings name."""
    return SqliteStoreBackend(parts.settings, parts.databases, clock)
