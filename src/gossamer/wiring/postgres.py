"""Crawls whose jobs, items, pages and ledger are in PostgreSQL."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.ports.clock import Clock
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.ledger import PostgresLedgerReader
from gossamer.store.postgres.store import PostgresStore


class PostgresStoreBackend:
    """Jobs, items, pages and ledger in a database that workers of any number of machines share."""

    def __init__(self, settings: Settings, server: PostgresServer, clock: Clock) -> None:
        ours = settings.store
        self._server = server
        self.book = PostgresJobStore(server, clock)
        self.store = PostgresStore(
            server, min_interval_s=ours.min_interval, history=ours.history, ledger_days=ours.ledger_days
        )
        self.ledger = PostgresLedgerReader(server)

    @classmethod
    async def open(cls, settings: Settings, url: str, clock: Clock) -> PostgresStoreBackend:
        """Connect and bring the schema up to date. Raises ``MissingServiceError`` and ``StorageError``."""
        server = PostgresServer(url, patience_s=settings.store.patience)
        try:
            await server.migrate_schema()
            return cls(settings, server, clock)
        except BaseException:
            await server.close()
            raise

    async def prune_ledger(self, now: float) -> None:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        await self.store.prune_ledger(now)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.StoreBackend`."""
        return set()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()
