"""A data directory opened to look into it and to manage its jobs, without crawling."""

from __future__ import annotations

import msgspec

from gossamer.config import Settings
from gossamer.disk.lock import holder, is_locked
from gossamer.engine.clock import SystemClock
from gossamer.fetch import robots_cache
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.frontier.sqlite_look import Place, look
from gossamer.policy import urls
from gossamer.policy.robots import RobotsRecord, RobotsRules
from gossamer.store.jobs import SqliteJobBook
from gossamer.store.ledger import Ledger
from gossamer.store.shared_state import SqliteSharedState
from gossamer.store.sqlite import SqliteStore
from gossamer.wiring.files import Databases, databases_folder
from gossamer.wiring.rules import rules_of
from gossamer.words.clock import Clock
from gossamer.words.model import Job, Rules


class Desk:
    """A data directory opened to look into it and to manage its jobs, without crawling."""

    def __init__(self, settings: Settings, databases: Databases, clock: Clock) -> None:
        self._settings = settings
        self.databases = databases
        self.clock = clock
        self.book = SqliteJobBook(databases.store, clock)
        self.store = SqliteStore(databases.store)
        self.ledger = Ledger(databases.store)

    def frontier(self, job: Job) -> SqliteFrontier:
        """The requests of a job."""
        return SqliteFrontier(self.databases.frontier, job.id, rules_of(self._settings), self.clock)

    async def place(self, job: Job, fingerprint: int) -> tuple[Rules, Place]:
        """The rules in force for a job, and where one of its requests stands."""
        self.frontier(job)  # it may be in another file than the job, and not be there yet
        return await look(self.databases.frontier, job.id, fingerprint)

    async def robots_deny(self, url: str) -> bool:
        """Whether the robots.txt of a URL's site, where it is remembered, refuses it. Asks nobody."""
        if not self._settings.robots:
            return False
        shared = SqliteSharedState(self.databases.store, self.clock)
        stored = await shared.get(robots_cache.SPACE, urls.origin(url))
        try:
            record = msgspec.msgpack.decode(stored or b"", type=RobotsRecord)
        except msgspec.DecodeError:
            return False
        return record.text != "" and not RobotsRules(record).allowed(url, self._settings.user_agent)

    def is_at_work(self, job: Job) -> bool:
        """Whether a process crawls this job now; one that was killed leaves it running in name only."""
        return is_locked(databases_folder(self._settings), job.target)

    def process_at(self, job: Job) -> str:
        """The number of the process that crawls this job now; ``""`` when none does."""
        return holder(databases_folder(self._settings), job.target)

    async def close(self) -> None:
        """Let go of the files."""
        self.databases.close()


async def open_desk(settings: Settings, *, create: bool = False) -> Desk:
    """Open a data directory. Raises :class:`StorageError` when there is none (and not ``create``)."""
    return Desk(settings, Databases(settings, create=create), SystemClock())
