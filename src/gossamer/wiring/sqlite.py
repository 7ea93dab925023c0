"""Crawls kept in SQLite files of a data directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.drivers.sqlite.committer import SameFileCommitter
from gossamer.drivers.sqlite.database import Database
from gossamer.drivers.sqlite.writer import writer_of
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.runtime.clock import SystemClock
from gossamer.runtime.file_lock import JobLock, lock_holder
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.store import SqliteStore

DATABASE = "gossamer.db"


def database_path(settings: Settings, url: str | None) -> Path:
    """The file of ``sqlite:///FILE``, by default the one in the data directory."""
    if url is None:
        return Path(settings.data) / DATABASE
    return Path(url.removeprefix("sqlite:///"))


class DatabasePool:
    """The SQLite files of one data directory, each opened once."""

    def __init__(self, settings: Settings, *, create: bool) -> None:
        self._settings = settings
        self._create = create
        self._open: dict[Path, Database] = {}

    @property
    def frontier_database(self) -> Database:
        """The file with the requests."""
        return self._open_database(self._settings.frontier.url)

    @property
    def store_database(self) -> Database:
        """The file with items, pages, ledger and jobs."""
        return self._open_database(self._settings.store.url)

    def _open_database(self, url: str | None) -> Database:
        path = database_path(self._settings, url).absolute()
        if path not in self._open:
            if not self._create and not path.exists():
                raise StorageError(
                    f"there is no crawl in {path.parent}: {path} does not exist; "
                    "name the data directory with --data, or start one with `gossamer crawl`"
                )
            self._open[path] = Database(path, synchronous=self._settings.sqlite.synchronous)
        return self._open[path]

    def blocking_writers(self) -> set[int]:
        """The processes that keep all others from writing to one of them at the moment."""
        return {writer for path in self._open if (writer := writer_of(path)) is not None}

    def close(self) -> None:
        """Close all; what was acknowledged is on disk."""
        for database in self._open.values():
            database.close()


class SqliteFrontierBackend:
    """Requests in a file; everybody who works on them is on this machine."""

    def __init__(self, settings: Settings, databases: DatabasePool) -> None:
        self._databases = databases
        self._folder = database_path(settings, settings.frontier.url).absolute().parent
        self.clock: Clock = SystemClock()
        self.shared = SqliteSharedState(databases.frontier_database, self.clock)

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> SqliteFrontier:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return SqliteFrontier(self._databases.frontier_database, job.id, rules, self.clock, owner=owner)

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

    def committer_for(self, frontier: object, keeping: SqliteStoreBackend, job: Job) -> Committer | None:
        """One that settles and stores in one transaction, where both are in one file."""
        if self._databases.frontier_database is not self._databases.store_database:
            return None
        assert isinstance(frontier, SqliteFrontier)
        return SameFileCommitter(
            self._databases.store_database,
            frontier.settle_within,
            frontier.known_within,
            keeping.store.write_within,
            job,
        )

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return self._databases.blocking_writers()

    async def close(self) -> None:
        """Close the files."""
        self._databases.close()


class SqliteStoreBackend:
    """Jobs, items, pages and ledger in a file."""

    def __init__(self, databases: DatabasePool, clock: Clock) -> None:
        self._databases = databases
        self.book = SqliteJobStore(databases.store_database, clock)
        self.store = SqliteStore(databases.store_database)
        self.ledger = SqliteLedgerReader(databases.store_database)

    async def prune_ledger(self, now: float) -> None:
        """Nothing: a file keeps everything."""

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        return self._databases.blocking_writers()

    async def close(self) -> None:
        """Close the files."""
        self._databases.close()
