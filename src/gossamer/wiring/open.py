"""Where a crawl keeps things: its requests in one place, what it brings back in another (or the same).

Each place is one file here: ``in_sqlite``, ``in_redis``, ``in_postgres``. The settings' URLs say which; a
driver is imported when its place is wanted.
"""

from __future__ import annotations

from typing import TypeGuard

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.redaction import shown_server
from gossamer.ports.backends import FrontierBackend, StoreBackend
from gossamer.ports.clock import Clock
from gossamer.wiring.sqlite import DatabasePool, SqliteFrontierBackend, SqliteStoreBackend


async def open_places(settings: Settings, *, create: bool) -> tuple[FrontierBackend, StoreBackend]:
    """Both places of a crawl, as the settings name them.

    Raises ``StorageError`` for a data directory that is not there (unless ``create``),
    ``MissingServiceError`` and ``StorageError`` for servers that are not there, not fit or not ours to use.
    """
    databases = DatabasePool(settings, create=create)
    try:
        requests = await _open_frontier(settings, databases)
    except BaseException:
        databases.close()
        raise
    try:
        return requests, await _open_store(settings, databases, requests.clock)
    except BaseException:
        await requests.close()
        databases.close()
        raise


async def _open_frontier(settings: Settings, databases: DatabasePool) -> FrontierBackend:
    url = settings.frontier.url
    if not is_in_redis(url):
        return SqliteFrontierBackend(settings, databases)
    from gossamer.wiring.redis import RedisFrontierBackend

    return await RedisFrontierBackend.open(settings, url)


def is_in_redis(url: str | None) -> TypeGuard[str]:
    """Whether requests are on a server, not in a file. Raises ``SettingError`` for a URL of neither."""
    if url is None or url.startswith("sqlite:"):
        return False
    if url.startswith(("redis:", "rediss:", "redis+cluster:")):
        return True
    raise SettingError(
        f"frontier.url = {shown_server(url)!r} is no place for requests that this version knows; "
        "write sqlite:///FILE or redis://HOST/0"
    )


async def _open_store(settings: Settings, databases: DatabasePool, clock: Clock) -> StoreBackend:
    url = settings.store.url
    if not is_in_postgres(url):
        return SqliteStoreBackend(databases, clock)
    from gossamer.wiring.postgres import PostgresStoreBackend

    return await PostgresStoreBackend.open(settings, url, clock)


def is_in_postgres(url: str | None) -> TypeGuard[str]:
    """Whether items are on a server, not in a file. Raises ``SettingError`` for a URL of neither."""
    if url is None or url.startswith("sqlite:"):
        return False
    if url.startswith(("postgresql:", "postgres:")):
        return True
    raise SettingError(
        f"store.url = {shown_server(url)!r} is no place for items that this version knows; "
        "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )
