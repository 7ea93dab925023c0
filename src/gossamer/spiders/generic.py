"""The spider of a crawl without a spider: it follows every link and keeps the text of each page."""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.core.drops import DropKind
from gossamer.core.requests import Request
from gossamer.items.item import Item, key
from gossamer.policy.scope import MEDIA, is_media_link
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider


class WebPage(Item):
    """The item of a page."""

    url: str = key()
    status: int
    title: str
    description: str
    text: str
    depth: int
    content_type: str
    flags: str = ""  # omitted parts, in short: ``truncated``, ``parse_truncated cut_depth``


class GenericSpider(Spider):
    """Crawls a site from its start URLs, within its domain: the host without ``www.``, and sub-domains.

    With neither domains nor start URLs it follows nothing: its pages are named (``gossamer seeds``).
    """

    name = "generic"

    def parse(self, response: Response) -> Iterator[WebPage | Request]:
        """Keep the page and follow its links; skip documents other than HTML and text."""
        page = response.page if response.is_html else None
        if page is None and not response.is_text:
            return
        yield WebPage(
            url=response.url,
            status=response.status,
            title=page.title if page else "",
            description=page.description if page else "",
            text=page.visible_text() if page else response.text,
            depth=response.request.depth,
            content_type=response.content_type,
            flags=" ".join(response.flags),
        )
        if not (self.allowed_domains or self.start_urls):
            return
        links = response.links()
        followed = [url for url in links if not is_media_link(url)]
        if len(followed) < len(links):
            response.dropped[DropKind.LINK.key_of(MEDIA)] = len(links) - len(followed)
        yield from map(Request, followed)
