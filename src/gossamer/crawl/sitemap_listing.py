"""The pages of a sitemap, and of those that it lists, for people: fetched as by a crawl, read in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

from gossamer.core.errors import FetchError, UsageError
from gossamer.core.record import FieldMeaning, Record
from gossamer.crawl.single_page import PageFetcher
from gossamer.observe.text import shown_url
from gossamer.parse.sitemap import SitemapReader
from gossamer.policy import urls
from gossamer.policy.lastmod import read_lastmod
from gossamer.spiders.sitemap import SitemapSpider

LEVELS = SitemapSpider.sitemap_levels


class ListedPage(Record, frozen=True, kw_only=True):
    """A page that a sitemap or a feed lists."""

    url: str
    lastmod: str = ""  # as written
    changed_at: Annotated[float, FieldMeaning.TIME] | None = None  # what that means; None: nothing
    priority: str = ""  # as written


def list_pages(pages: PageFetcher, url: str, tell: Callable[[str], None]) -> Iterator[ListedPage]:
    """The pages of a sitemap of any kind, those of listed ones too, each sitemap once, three levels deep.

    ``tell`` takes what was left out, and sitemaps that cannot be fetched; of the first one that is an error.
    Raises ``FetchError`` and ``UsageError``.
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
            if level == 1:
                raise
            tell(f"{shown_url(place)}: {error}")
            continue
        if response.status >= 400:
            tell(f"{shown_url(place)}: status {response.status}")
        reader = SitemapReader(response.body, response.url, response.content_type)
        listed: list[tuple[str, int]] = []
        for batch in reader.read_batches():
            for entry in batch:
                if entry.is_sitemap:
                    listed.append((entry.url, level + 1))
                else:
                    at = read_lastmod(entry.lastmod) or None
                    yield ListedPage(
                        url=entry.url, lastmod=entry.lastmod, changed_at=at, priority=entry.priority
                    )
        if reader.trouble:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in reader.trouble.items())
            tell(f"{shown_url(place)}: left out: {reasons}")
        if listed and level >= LEVELS:
            tell(f"{shown_url(place)}: {len(listed):,} sitemaps are listed too deep")
        elif listed:
            waiting += reversed(listed)
