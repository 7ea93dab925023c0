"""Spiders that start from sitemaps.

A sitemap is a request like any other, with a callback of its own: politeness, robots.txt, budgets, retries
and deduplication hold for it by construction, so an index that lists itself is fetched once, and one that
lists others forever ends at :attr:`SitemapSpider.sitemap_levels`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.requests import Request
from gossamer.parse.sitemap import SitemapEntry, SitemapReader
from gossamer.policy import urls
from gossamer.policy.credentials import has_credentials
from gossamer.policy.lastmod import read_lastmod, read_priority
from gossamer.policy.patterns import compile_pattern
from gossamer.policy.robots import RobotsRules, interpret_response
from gossamer.policy.scope import Scope
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

_OWN = frozenset({"parse_sitemap", "parse_sitemap_robots"})


class SitemapSpider(Spider):
    """A spider that starts from sitemaps: XML, sitemap indexes, RSS, Atom or text, gzipped or not.

    A page on another host than its sitemap is visited only if the robots.txt of that host names the sitemap
    (sitemaps.org, cross submits), or if ``allowed_domains`` names the host. Other entries are counted as
    ``sitemap:REASON`` (``other_host``, ``too_deep``, ``html``, ...). The priority of an entry decides the
    order. A later crawl fetches every sitemap again and skips pages whose ``lastmod`` is older than their
    latest check.
    """

    sitemap_urls: Sequence[str] = ()
    """URLs of sitemaps, or of robots.txt files that name sitemaps."""
    sitemap_rules: Sequence[tuple[str, Any]] = (("", "parse"),)
    """Pairs ``(regular expression, callback)``. The first match decides; other URLs are skipped."""
    sitemap_follow: Sequence[str] = ("",)
    """Regular expressions; an index's sitemaps are read if one of them matches their URL."""
    sitemap_levels: int = 3
    """Maximum depth of nested indexes."""

    async def start(self) -> AsyncIterator[Request]:
        """The sitemaps, and then the ordinary first requests."""
        for url in self.sitemap_urls:
            if is_robots_file(url):
                yield Request(url, "parse_sitemap_robots")
            else:
                yield self._sitemap_request(url, 1, [])
        async for request in super().start():
            yield request

    def selects(self, callback: str) -> bool:
        """Whether ``callback`` selects elements of its pages; sitemaps are read from their bytes."""
        return callback not in _OWN and super().selects(callback)

    def watches(self, callback: str) -> bool:
        """Whether every crawl that comes back asks for pages of ``callback``: for sitemaps, it does."""
        return callback in _OWN or super().watches(callback)

    def required(self, callback: str) -> Sequence[str]:
        """The selectors that a page must have; a sitemap has none."""
        return () if callback in _OWN else super().required(callback)

    def sitemap_filter(self, locations: Iterable[SitemapEntry]) -> Iterable[SitemapEntry]:
        """Return the entries to visit out of ``locations``: by default all of them.

        Each entry has ``url``, ``lastmod`` and ``is_sitemap``.
        """
        return locations

    async def parse_sitemap(
        self, response: Response, level: int, named_by: Sequence[str]
    ) -> AsyncIterator[Request]:
        """Yield requests for the pages and the sitemaps that a sitemap lists.

        Args:
            response: the sitemap.
            level: its depth, 1 for a sitemap that ``sitemap_urls`` names.
            named_by: hosts whose robots.txt names it.
        """
        response.was_read = True
        reader = SitemapReader(response.body, response.url, response.content_type)
        hosts = {_site_of(url) for url in (response.url, *response.request.redirects)} | set(named_by)
        left_out: dict[str, int] = {}
        session = response.request.session
        for batch in reader.read_batches():
            for location in self.sitemap_filter(batch):
                request = self._request_for(location, hosts, level, named_by)
                if isinstance(request, Request):
                    yield request.replace(session=session) if session else request
                else:
                    left_out[request] = left_out.get(request, 0) + 1
            await asyncio.sleep(0)  # other pages continue between two slices
        for reason, count in {**reader.trouble, **left_out}.items():
            response.dropped[DropKind.SITEMAP.key_of(reason)] = count

    def parse_sitemap_robots(self, response: Response) -> Iterable[Request]:
        """Yield requests for the sitemaps that the robots.txt in ``response`` names."""
        for url in sitemaps_named_by(response):
            request = self._sitemap_request(url, 1, [_site_of(response.url)])
            yield request.replace(session=response.request.session)

    def _request_for(
        self, location: SitemapEntry, hosts: set[str], level: int, named_by: Sequence[str]
    ) -> Request | str:
        """The request for an entry, or the reason why there is none."""
        url = location.url
        if _site_of(url) not in hosts and not self._is_named(url):
            return "other_host"
        if has_credentials(url):
            return "credentials"
        if location.is_sitemap:
            if level >= self.sitemap_levels:
                return "too_deep"
            wanted = any(_is_found(pattern, url) for pattern in self.sitemap_follow)
            return self._sitemap_request(url, level + 1, named_by) if wanted else "not_followed"
        for pattern, callback in self.sitemap_rules:
            if _is_found(pattern, url):
                return Request(
                    url,
                    callback,
                    priority=read_priority(location.priority),
                    lastmod=read_lastmod(location.lastmod),
                )
        return "no_rule"

    def _sitemap_request(self, url: str, level: int, named_by: Sequence[str]) -> Request:
        kwargs = {"level": level, "named_by": list(named_by)}
        return Request(url, "parse_sitemap", cb_kwargs=kwargs, priority=1)

    def _is_named(self, url: str) -> bool:
        """Whether the operator named the host of a URL."""
        place = urls.parse_origin(url)
        return bool(self.allowed_domains) and self._named_scope.is_host_allowed(place.hostname, place.port)

    @cached_property
    def _named_scope(self) -> Scope:
        return Scope(self.allowed_domains)


def is_robots_file(url: str) -> bool:
    """Return whether a URL is that of a robots.txt, which names sitemaps."""
    return re.search(r"^[^?#]*/robots\.txt$", url) is not None


def sitemaps_named_by(response: Response) -> Sequence[str]:
    """The sitemaps that a robots.txt names."""
    record = interpret_response(response.status, response.body, response.content_type)
    return RobotsRules(replace(record, url=response.url)).sitemap_urls


def _is_found(pattern: str | re.Pattern[str], url: str) -> bool:
    """Return whether an expression matches a URL, in linear time if possible."""
    known = compile_pattern(pattern) if isinstance(pattern, str) else pattern
    return bool(known.search(url))


def _site_of(url: str) -> str:
    """The host of a URL; with and without ``www.`` it is one site."""
    return urls.host_key(url).removeprefix("www.")
