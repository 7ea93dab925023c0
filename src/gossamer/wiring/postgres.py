"""Crawls whose jobs, items, pages and ledger are in PostgreSQL."""

from __future__ import annotations

import time

from gossamer.config.settings import Settings
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.policy.fitness import judge_postgres
from gossamer.ports.clock import Clock
from gossamer.store.postgres.actions import PostgresActionLog
from gossamer.store.postgres.changes import PostgresChangeFeed
from gossamer.store.postgres.files import PostgresFileStore
from gossamer.store.postgres.items import PostgresItemReader
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.known_pages import PostgresKnownPageStore
from gossamer.store.postgres.ledger import PostgresLedgerReader
from gossamer.store.postgres.profiles import PostgresProfileStore
from gossamer.store.postgres.result_versions import PostgresResultVersions
from gossamer.store.postgres.schedules import PostgresScheduleStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.series import PostgresSeries
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.postgres.tokens import PostgresTokenStore
from gossamer.wiring.schemes import BackendParts, ServerReport

TIMEOUT_S = 30.0
"""Limit of one statement in seconds, unless the caller sets another."""


class PostgresStoreBackend:
    """Jobs, items, pages and ledger in a database that workers of any number of machines share."""

    def __init__(self, settings: Settings, server: PostgresServer, clock: Clock) -> None:
        ours = settings.store
        self._server = server
        self.book = PostgresJobStore(server, clock)
        self.store = PostgresStore(
            server,
            min_interval_s=ours.min_interval,
            history=ours.history,
            follows_changes=bool(settings.outputs),
            seen_resolution_s=ours.seen_resolution,
            ledger_days=ours.ledger_days,
        )
        self.ledger = PostgresLedgerReader(server)
        self.series = PostgresSeries(server)
        self.items = PostgresItemReader(server)
        self.tokens = PostgresTokenStore(server)
        self.actions = PostgresActionLog(server)
        self.changes = PostgresChangeFeed(server)
        self.files = PostgresFileStore(server)
        self.known_pages = PostgresKnownPageStore(server)
        self.profiles = PostgresProfileStore(server)
        self.versions = PostgresResultVersions(server)
        self.schedules = PostgresScheduleStore(server)

    async def prune_ledger(self, now: float) -> None:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        await self.store.prune_ledger(now)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        return set()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()


async def open_store(url: str | None, parts: BackendParts, clock: Clock) -> PostgresStoreBackend:
    """Connect and bring the schema up to date. Raises ``MissingServiceError`` and ``StorageError``."""
    timeout_s, patience_s = TIMEOUT_S, parts.settings.store.patience
    if parts.limit_s is not None:  # a person waits: do not wait longer for a server that is away
        timeout_s, patience_s = parts.limit_s, min(patience_s, parts.limit_s / 5)
    server = make_server(url or "", patience_s=patience_s, timeout_s=timeout_s)
    try:
        await server.migrate_schema()
        return PostgresStoreBackend(parts.settings, server, clock)
    except BaseException:
        await server.close()
        raise


async def check_store(url: str, settings: Settings) -> ServerReport:
    """Whether the server is fit, and has connections for this crawl's processes; changes nothing on it."""
    facts = await make_server(url).check_server()
    found = judge_postgres(facts, settings.processes)
    return ServerReport(found=found.found, advice=found.advice)


async def read_clock(url: str, settings: Settings) -> float:
    """By how many seconds this machine's clock is ahead of that of this PostgreSQL; negative: behind."""
    facts = await make_server(url).check_server()
    return time.time() - facts.time
