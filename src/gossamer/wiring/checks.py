"""Whether the servers that the settings name, and this machine, are fit, without changing anything on them.

Those of servers raise what :func:`~gossamer.wiring.open.open_places` would: ``MissingServiceError``,
``StorageError``, ``UsageError``, ``SettingError``.
"""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.fetch.machine import max_idle_connections, open_files_allowed
from gossamer.wiring.open import is_in_postgres, is_in_redis


async def look_at_requests(settings: Settings) -> str:
    """The server of ``frontier.url``; what could not be found out about it (empty: nothing)."""
    url = settings.frontier.url
    if not is_in_redis(url):
        return ""
    from gossamer.drivers.redis.server import RedisServer

    server = RedisServer(url, prefix=settings.redis.prefix)
    try:
        return await server.check_server(require_durable=settings.redis.require_durable)
    finally:
        await server.close()


async def look_at_items(settings: Settings) -> str:
    """The same for ``store.url``."""
    url = settings.store.url
    if is_in_postgres(url):
        from gossamer.drivers.postgres.server import PostgresServer

        await PostgresServer(url).check_server()
    return ""


def look_at_open_files() -> tuple[int, int, int]:
    """Files this process may open, how many a crawl raises that to, and idle connections it keeps then."""
    now, raised = open_files_allowed()
    return now, raised, max_idle_connections(raised)
