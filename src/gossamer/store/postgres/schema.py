"""The store's tables in PostgreSQL: the numbered ``migrations/NNNN_*.sql``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gossamer.drivers.postgres.server import PostgresServer
from gossamer.policy.fitness import PROCESS_CONNECTIONS


@cache
def load_migrations() -> dict[int, str]:
    """Return the SQL that leads to each schema version."""
    found = (files("gossamer.store.postgres") / "migrations").iterdir()
    return {int(file.name[:4]): file.read_text("utf-8") for file in found if file.name.endswith(".sql")}


def make_server(
    url: str, *, connections: int = PROCESS_CONNECTIONS, patience_s: float = 60.0, timeout_s: float = 30.0
) -> PostgresServer:
    """Return a server that has the store's tables when it is first used."""
    return PostgresServer(
        url,
        migrations=load_migrations(),
        connections=connections,
        patience_s=patience_s,
        timeout_s=timeout_s,
    )
