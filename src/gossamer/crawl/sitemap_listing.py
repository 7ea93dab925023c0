"""The pages of a sitemap, and of those that it lists, for people: fetched as by a crawl, read in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated
from urllib.parse import urljoin

from gossamer.core.errors import FetchError, UsageError
from gossamer.core.record import FieldMeaning, Record
from gossamer.crawl.single_page import PageFetcher
from gossamer.observe.text import shown_url
from gossamer.parse.sitemap import SitemapReader
from gossamer.policy import urls
from gossamer.policy.lastmod import read_lastmod
from gossamer.spiders.sitemap import SitemapSpider, is_robots_file, sitemaps_named_by

LEVELS = SitemapSpider.sitemap_levels


class ListedPage(Record, frozen=True, kw_only=True):
    """A page that a sitemap or a feed lists."""

    url: str
    lastmod: str = ""  # as written
    changed_at: Annotated[float, FieldMeaning.TIME] | None = None  # ``lastmod`` as a time; None: not readable
    priority: str = ""  # as written


def list_pages(pages: PageFetcher, url: str, tell: Callable[[str], None]) -> Iterator[ListedPage]:
    """Yield the pages of a sitemap of any kind, including nested ones, each sitemap once, three levels deep.

    For a robots.txt: the pages of the sitemaps that it names. ``tell`` receives skipped entries, and sitemaps
    that cannot be fetched; for the first one that is an error. Raises ``FetchError`` and ``UsageError``.
    """
    seen: set[str] = set()
    waiting = [(url, 1)]
    while waiting:
        place, level = waiting.pop()
        name = urls.canonicalise_url(place) or place
        if name in seen:
            continue
        seen.add(name)
        try:
            response = pages.fetch(place)
        except (FetchError, UsageError) as error:
            if not waiting and len(seen) == 1:
                raise
            tell(f"{shown_url(place)}: {error}")
            continue
        if response.status >= 400:
            tell(f"{shown_url(place)}: status {response.status}")
        elif is_robots_file(place):
            waiting += [(named, level) for named in reversed(sitemaps_named_by(response))]
            continue
        reader = SitemapReader(response.body, response.url, response.content_type)
        listed: list[str] = []
        yield from _read_entries(reader, listed)
        if reader.trouble and response.status < 400:
            tell(f"{shown_url(place)}: {_describe_trouble(reader, place)}")
        if listed and level >= LEVELS:
            tell(f"{shown_url(place)}: {len(listed):,} sitemaps are listed too deep")
        elif listed:
            waiting += [(sitemap, level + 1) for sitemap in reversed(listed)]


def _read_entries(reader: SitemapReader, listed: list[str]) -> Iterator[ListedPage]:
    """Yield the pages of one sitemap; ``listed`` receives its nested sitemaps."""
    for batch in reader.read_batches():
        for entry in batch:
            if entry.is_sitemap:
                listed.append(entry.url)
                continue
            at = read_lastmod(entry.lastmod) or None
            yield ListedPage(url=entry.url, lastmod=entry.lastmod, changed_at=at, priority=entry.priority)


def _describe_trouble(reader: SitemapReader, place: str) -> str:
    if "html" in reader.trouble:
        robots = shown_url(urljoin(place, "/robots.txt"))
        return f"a page, not a sitemap; `gossamer sitemap {robots}` lists the sitemaps of the host"
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in reader.trouble.items())
    return f"left out: {reasons}"
