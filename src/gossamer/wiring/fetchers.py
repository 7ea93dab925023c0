"""The ways to fetch pages, by the settings: for a crawl, and for single pages.

Each way is a row of :data:`WAYS`. A way that needs an extra has a module of its own in this package, which is
imported when the way is opened.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, SettingError, UsageError
from gossamer.core.record import Record
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import FileLimits, HttpOptions
from gossamer.fetch.machine import raise_open_files
from gossamer.fetch.replay import ReplayFetcher
from gossamer.fetch.routing.dispatch import RoutedFetcher
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.install import install_command
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.page_guide import PageGuide

SPOOL = "files-spool"
"""The folder of the data directory in which files are while they come; they have no names there."""


class FetchParts(Record, frozen=True):
    """Parameters for opening ways to fetch. All ways share the guard and the cookies."""

    settings: Settings
    guard: AddressGuard
    clock: Clock
    cookies: CookieStore
    authorizations: Mapping[str, str] = {}  # by origin
    guide: PageGuide | None = None  # the spiders' wishes for their pages in a browser

    def __repr__(self) -> str:  # without the authorizations
        return "<FetchParts>"


class FetchWay(Record, frozen=True):
    """One way to fetch."""

    open: Callable[[FetchParts], Fetcher]
    """Opens the fetcher. Raises ``MissingServiceError`` for a missing package, and ``SettingError``."""

    extra: str = ""
    """The extra of Gossamer that it needs, for `gossamer doctor`."""


def http_options_of(parts: FetchParts) -> HttpOptions:
    """Return the limits and headers of fetching over HTTP, which other ways over HTTP also use."""
    http = parts.settings.http
    return HttpOptions(
        user_agent=parts.settings.user_agent,
        headers=http.headers,
        says_referer=http.referer,
        authorizations=dict(parts.authorizations),
        connect_s=http.connect_timeout,
        headers_s=http.headers_timeout,
        idle_s=http.read_timeout,
        body_s=http.total_timeout,
        max_body_bytes=http.max_size_bytes,
        insecure_hosts=frozenset(http.insecure_hosts),
        tls=http.tls,
        keeps_exchanges=parts.settings.archive.is_on,
        files=_file_limits_of(parts.settings),
    )


def _file_limits_of(settings: Settings) -> FileLimits:
    files = settings.files
    return FileLimits(
        folder=str(Path(settings.data) / SPOOL),
        max_bytes=files.max_bytes,
        body_s=files.timeout,
        types=files.types,
    )


def _open_http(parts: FetchParts) -> Fetcher:
    return HttpFetcher(http_options_of(parts), clock=parts.clock, guard=parts.guard, cookies=parts.cookies)


def _open_replay(parts: FetchParts) -> Fetcher:
    replay = parts.settings.replay
    if replay.job is not None:
        room = import_module("gossamer.wiring.replay")  # with the archive, which most crawls do without
        fetcher: Fetcher = room.open_archived(parts.settings, replay.job)
        return fetcher
    if replay.folder is None:
        raise SettingError("the way to fetch 'replay' needs a folder of saved pages: set replay.folder")
    return ReplayFetcher(Path(replay.folder), replay.rules, clock=parts.clock)


def _open_late(module: str, function: str, extra: str = "") -> Callable[[FetchParts], Fetcher]:
    """Return an opener that imports the module of a way, and the packages of its extra, when it is called."""

    def open_way(parts: FetchParts) -> Fetcher:
        try:
            found = import_module(module)
        except ImportError as error:
            if not extra:
                raise
            raise MissingServiceError(
                f"a way to fetch needs another package ({error.name} is missing): {install_command(extra)}"
            ) from error
        fetcher: Fetcher = getattr(found, function)(parts)
        return fetcher

    return open_way


WAYS: dict[str, FetchWay] = {
    "browser": FetchWay(_open_late("gossamer.wiring.browser", "open_browser", "browser"), extra="browser"),
    "gateway": FetchWay(_open_late("gossamer.wiring.gateways", "open_gateways")),
    "http": FetchWay(_open_http),
    "impersonate": FetchWay(
        _open_late("gossamer.wiring.impersonate", "open_impersonate", "impersonate"), extra="impersonate"
    ),
    "replay": FetchWay(_open_replay),
}
"""Every way to fetch, by its name in a rung."""


def find_way(name: str) -> FetchWay:
    """Return the row of a way. Raises ``UsageError`` for an unknown way, with the nearest."""
    if name in WAYS:
        return WAYS[name]
    near = difflib.get_close_matches(name, WAYS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(WAYS))}"
    raise UsageError(f"{name!r} is not a way to fetch; {hint}")


def fetcher_of(
    settings: Settings,
    guard: AddressGuard,
    clock: Clock,
    *,
    cookies: CookieStore | None = None,
    authorizations: Mapping[str, str] | None = None,
    ways: Iterable[str] = ("http",),
    guide: PageGuide | None = None,
) -> Fetcher:
    """Return the fetcher that fetches each request by the way of its route.

    Without ``cookies`` they are kept in memory. ``authorizations`` are values of Authorization by origin.
    ``ways`` are opened at once, so that a missing package is reported before the first page; other ways are
    opened when a route needs them. Saved pages replace every way. ``guide`` returns the spiders' wishes for a
    browser. Raises the errors of opening a way.
    """
    if cookies is None:
        cookies = CookieJar(HttpOptions().max_cookie_jars)
    parts = FetchParts(settings, guard, clock, cookies, authorizations or {}, guide)
    if not touches_network(settings):
        return find_way("replay").open(parts)
    raise_open_files()
    return RoutedFetcher(partial(_open_way, parts), ways)


def _open_way(parts: FetchParts, name: str) -> Fetcher:
    return find_way(name).open(parts)


def touches_network(settings: Settings) -> bool:
    """Whether there is a server to be polite to."""
    return settings.replay.folder is None and settings.replay.job is None
