"""The way to get pages, by the settings: for a crawl, and for single pages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.machine import raise_open_files
from gossamer.fetch.replay import ReplayFetcher
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore
from gossamer.ports.fetcher import Fetcher

log = logging.getLogger("gossamer.crawl")


def fetcher_of(
    settings: Settings,
    guard: AddressGuard,
    clock: Clock,
    *,
    cookies: CookieStore | None = None,
    authorizations: Mapping[str, str] | None = None,
) -> Fetcher:
    """The way to get pages; without ``cookies`` they are kept in memory only.

    ``authorizations`` are values of Authorization by origin.
    """
    if settings.replay.folder is not None:
        return ReplayFetcher(Path(settings.replay.folder), settings.replay.rules, clock=clock)
    http = settings.http
    options = HttpOptions(
        user_agent=settings.user_agent,
        headers=http.headers,
        authorizations=dict(authorizations or {}),
        connect_s=http.connect_timeout,
        headers_s=http.headers_timeout,
        idle_s=http.read_timeout,
        body_s=http.total_timeout,
        max_body_bytes=http.max_size_bytes,
        insecure_hosts=frozenset(http.insecure_hosts),
        tls=http.tls,
    )
    raise_open_files()
    return HttpFetcher(options, clock=clock, guard=guard, cookies=cookies)


def touches_network(settings: Settings) -> bool:
    """Whether there is a server to be polite to."""
    return settings.replay.folder is None
