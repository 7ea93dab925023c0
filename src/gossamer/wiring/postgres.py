"""Crawls whose jobs, items, pages and ledger are in PostgreSQL."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.core.clock import Clock
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.store.postgres.jobs import PostgresJobBook
from gossamer.store.postgres.ledger import PostgresLedger
from gossamer.store.postgres.store import PostgresStore


class PostgresKeeping:
    """Jobs, items, pages and ledger in a database that workers of any number of machines share."""

    def __init__(self, settings: Settings, server: PostgresServer, clock: Clock) -> None:
        ours = settings.store
        self._server = server
        self.book = PostgresJobBook(server, clock)
        self.store = PostgresStore(
            server, min_interval_s=ours.min_interval, history=ours.history, ledger_days=ours.ledger_days
        )
        self.ledger = PostgresLedger(server)

    @classmethod
    async def open(cls, settings: Settings, url: str, clock: Clock) -> PostgresKeeping:
        """Connect and bring the schema up to date. Raises ``ServiceMissing`` and ``StorageError``."""
        server = PostgresServer(url, patience_s=settings.store.patience)
        try:
            await server.check()
            return cls(settings, server, clock)
        except BaseException:
            await server.close()
            raise

    async def tidy(self, now: float) -> None:
        """See :class:`~gossamer.ports.backends.Keeping`."""
        await self.store.tidy(now)

    def writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.Keeping`."""
        return set()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()
