"""Whether the parts that a crawl opens at its start can be opened, by the code that opens them.

Each check raises the ``OperatorError`` with which a start would end. Servers, proxies, gateways and the
browser have checks of their own (``checks``); pipelines and hooks belong to spiders.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator

from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, SettingError
from gossamer.core.rungs import AUTO, BROWSER_WAY, GATEWAY_WAY
from gossamer.drivers.sqlite.schema import check_file
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.runtime.clock import SystemClock
from gossamer.wiring.alert_targets import alert_targets_of
from gossamer.wiring.checks import named_ways
from gossamer.wiring.databases import database_path
from gossamer.wiring.fetchers import FetchParts, find_way, touches_network
from gossamer.wiring.memory import check_memory
from gossamer.wiring.metrics import load_server
from gossamer.wiring.outputs import plan_outputs
from gossamer.wiring.sinks import find_opener
from gossamer.wiring.traces import load_tracing


def find_obstacles(settings: Settings) -> Iterator[tuple[str, OperatorError]]:
    """Yield the settings that would keep a crawl from starting, with the reasons."""
    for name, check in _CHECKS:
        try:
            check(settings)
        except OperatorError as error:
            yield name, error


def _check_memory(settings: Settings) -> None:
    if settings.memory:
        check_memory(settings)


def _check_databases(settings: Settings) -> None:
    """Check the existing SQLite files."""
    for url in (settings.frontier.url, settings.store.url):
        if not settings.memory and (url is None or url.startswith("sqlite:")):
            check_file(database_path(settings, url))


def _check_ways(settings: Settings) -> None:
    """Open the ways that the settings name. Gateways and browsers are checked by rows of their own."""
    guard, clock = AddressGuard(()), SystemClock()
    parts = FetchParts(settings, guard, clock, CookieJar(HttpOptions().max_cookie_jars))
    ways = named_ways(settings) if touches_network(settings) else {"replay"}
    ways = {way.partition(":")[0] for way in ways} - {AUTO, BROWSER_WAY, GATEWAY_WAY}

    async def open_all() -> None:
        for way in sorted(ways):
            await find_way(way).open(parts).close()

    asyncio.run(open_all())


def _check_outputs(settings: Settings) -> None:
    plan_outputs(settings)


def _check_traces(settings: Settings) -> None:
    if settings.traces.enabled:
        load_tracing()


def _check_sinks(settings: Settings) -> None:
    for name in settings.log.sinks:
        find_opener(name)


def _check_metrics(settings: Settings) -> None:
    """Check that the address of the metrics is free."""
    given = settings.metrics
    if given.port is None:
        return
    load_server()
    family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((given.host, given.port))
        except OSError as error:
            raise SettingError(
                f"metrics cannot be served at {given.host}:{given.port} ({error.strerror or error}); choose "
                "another port (--metrics-port) or metrics.host"
            ) from None


_CHECKS: tuple[tuple[str, Callable[[Settings], object]], ...] = (
    ("memory", _check_memory),
    ("SQLite file", _check_databases),
    ("fetch", _check_ways),
    ("outputs", _check_outputs),
    ("alerts.targets", alert_targets_of),
    ("traces.enabled", _check_traces),
    ("log.sinks", _check_sinks),
    ("metrics.port", _check_metrics),
)
