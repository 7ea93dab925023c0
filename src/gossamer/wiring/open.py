"""Opens the places of a crawl: one for its requests, another (or the same) for its results."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.ports.backends import FleetBackend, FrontierBackend, StoreBackend
from gossamer.runtime.clock import SystemClock
from gossamer.wiring.databases import DatabasePool
from gossamer.wiring.schemes import FRONTIERS, STORES, BackendParts


async def open_places(
    settings: Settings, *, create: bool, limit_s: float | None = None
) -> tuple[FrontierBackend, StoreBackend]:
    """Both places of a crawl, as the settings name them; ``limit_s``: the longest that one question takes.

    Raises ``StorageError`` for a data directory that is not there (unless ``create``),
    ``MissingServiceError`` and ``StorageError`` for servers that are not there, not fit or not ours to use,
    ``SettingError`` for URLs of unknown schemes.
    """
    if settings.memory:
        places: tuple[FrontierBackend, StoreBackend] = _memory().open_memory(settings, create=create)
        return places
    frontier_url, store_url = settings.frontier.url, settings.store.url
    frontier_scheme, store_scheme = FRONTIERS.find_scheme(frontier_url), STORES.find_scheme(store_url)
    parts = BackendParts(settings, DatabasePool(settings, create=create, limit_s=limit_s), limit_s)
    try:
        requests = await frontier_scheme.open(frontier_url, parts)
        try:
            return requests, await store_scheme.open(store_url, parts, requests.clock)
        except BaseException:
            await requests.close()
            raise
    except BaseException:
        parts.databases.close()
        raise


async def open_fleet(settings: Settings) -> FleetBackend:
    """Open the frontier's place alone, for a fleet. Raises as :func:`open_places` does."""
    check_serves_fleet(settings)
    url = settings.frontier.url
    parts = BackendParts(settings, DatabasePool(settings, create=False))
    return fleet_of(await FRONTIERS.find_scheme(url).open(url, parts))


async def open_store(settings: Settings, *, create: bool = False) -> StoreBackend:
    """Open the store's place alone, by this machine's time. Raises as :func:`open_places` does."""
    if settings.memory:
        place: StoreBackend = _memory().open_memory(settings, create=create)[1]
        return place
    url = settings.store.url
    parts = BackendParts(settings, DatabasePool(settings, create=create))
    try:
        return await STORES.find_scheme(url).open(url, parts, SystemClock())
    except BaseException:
        parts.databases.close()
        raise


def _memory() -> ModuleType:
    """Import crawls in memory, which most crawls do not use."""
    return import_module("gossamer.wiring.memory")


def check_serves_fleet(settings: Settings) -> None:
    """Raise ``SettingError`` when a fleet cannot work on requests in the place that the settings name."""
    if settings.memory:
        raise SettingError("a fleet keeps its requests in Redis, and memory = true keeps them in one process")
    if not FRONTIERS.find_scheme(settings.frontier.url).serves_fleet:
        raise _unfit_for_fleets()


def fleet_of(requests: FrontierBackend) -> FleetBackend:
    """Return the parts for a fleet. Raises ``SettingError`` for a frontier that serves no fleet."""
    if requests.fleet is None:
        raise _unfit_for_fleets()
    return requests.fleet


def _unfit_for_fleets() -> SettingError:
    return SettingError("a fleet keeps its requests in Redis: set frontier.url to redis://HOST/0")
