"""The spider for a site that nobody wrote a spider for: follows every link, keeps every page's text."""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.items import Item, key
from gossamer.response import Response
from gossamer.spider import Spider
from gossamer.words.model import Request


class WebPage(Item):
    """What is kept of a page."""

    url: str = key()
    status: int
    title: str
    description: str
    text: str
    depth: int
    content_type: str


class GenericSpider(Spider):
    """Crawls a site from its start URLs, within its host."""

    name = "generic"

    def parse(self, response: Response) -> Iterator[WebPage | Request]:
        """Keep the page, follow its links."""
        page = response.page if response.is_html else None
        yield WebPage(
            url=response.url,
            status=response.status,
            title=page.title if page else "",
            description=page.description if page else "",
            text=page.main_text() if page else "",
            depth=response.request.depth,
            content_type=response.content_type,
        )
        for url in response.links():
            yield Request(url)
