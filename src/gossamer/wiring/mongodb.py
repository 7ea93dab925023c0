"""Crawls whose jobs, items, pages and ledger are in MongoDB."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.drivers.mongodb.server import MongoServer
from gossamer.ports.clock import Clock
from gossamer.store.mongodb.actions import MongoActionLog
from gossamer.store.mongodb.changes import MongoChangeFeed
from gossamer.store.mongodb.files import MongoFileStore
from gossamer.store.mongodb.items import MongoItemReader
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.known_pages import MongoKnownPageStore
from gossamer.store.mongodb.ledger import MongoLedgerReader
from gossamer.store.mongodb.profiles import MongoProfileStore
from gossamer.store.mongodb.result_versions import MongoResultVersions
from gossamer.store.mongodb.schedules import MongoScheduleStore
from gossamer.store.mongodb.schema import make_server
from gossamer.store.mongodb.series import MongoSeries
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.mongodb.tokens import MongoTokenStore
from gossamer.wiring.schemes import BackendParts

TIMEOUT_S = 30.0
"""Limit of one command in seconds, unless the caller sets another."""


class MongoStoreBackend:
    """Jobs, items, pages and ledger in a database that workers of any number of machines share."""

    def __init__(self, settings: Settings, server: MongoServer, clock: Clock) -> None:
        ours = settings.store
        self._server = server
        self.book = MongoJobStore(server, clock)
        self.store = MongoStore(
            server,
            min_interval_s=ours.min_interval,
            history=ours.history,
            seen_resolution_s=ours.seen_resolution,
            ledger_days=ours.ledger_days,
            follows_changes=bool(settings.outputs),
        )
        self.ledger = MongoLedgerReader(server)
        self.series = MongoSeries(server)
        self.changes = MongoChangeFeed(server)
        self.items = MongoItemReader(server)
        self.tokens = MongoTokenStore(server)
        self.actions = MongoActionLog(server)
        self.files = MongoFileStore(server)
        self.known_pages = MongoKnownPageStore(server)
        self.profiles = MongoProfileStore(server)
        self.versions = MongoResultVersions(server)
        self.schedules = MongoScheduleStore(server)

    async def prune_ledger(self, now: float) -> None:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        await self.store.prune_ledger(now)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        return set()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()


async def open_store(url: str | None, parts: BackendParts, clock: Clock) -> MongoStoreBackend:
    """Connect and make the indexes. Raises ``MissingServiceError``, ``StorageError`` and ``UsageError``."""
    timeout_s, patience_s = TIMEOUT_S, parts.settings.store.patience
    if parts.limit_s is not None:  # a person waits: do not wait longer for a server that is away
        timeout_s, patience_s = parts.limit_s, min(patience_s, parts.limit_s / 5)
    server = make_server(url or "", patience_s=patience_s, timeout_s=timeout_s)
    try:
        await server.prepare_database()
        return MongoStoreBackend(parts.settings, server, clock)
    except BaseException:
        await server.close()
        raise


async def check_store(url: str, settings: Settings) -> str:
    """Whether the server answers, and lets this user read; changes nothing on it."""
    await make_server(url).check_server()
    return ""
