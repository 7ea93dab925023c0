"""The 48 saved listing pages of a real shop, replayed under their own name or served on loopback."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from corpora import corpus
from gossamer.testing.site import App, SiteResponse

NAME = "https://scrapeme.live"
PAGES = 48
PRODUCTS = 755

SPIDER = """
from decimal import Decimal

from gossamer import Item, Spider, key


class Product(Item):
    id: int = key()
    name: str
    price: Decimal


class Shop(Spider):
    name = "saved-shop"
    start_urls = ["{start}/shop/page/1/"]
    allowed_domains = ["{domain}"]

    def parse(self, response):
        for product in response.css("li.product"):
            yield Product(
                id=product.css("[data-product_id]::attr(data-product_id)").get(),
                name=product.css("h2::text").get(),
                price=product.css(".amount::text").re_first(r"[\\d.]+"),
            )
        yield from response.follow_all(css="a.page-numbers")
"""


def spider_file(folder: Path, start: str) -> Path:
    """A spider for the shop at ``start``, as a user would write it."""
    file = folder / "shop_spider.py"
    domain = start.partition("://")[2]
    file.write_text(SPIDER.replace("{start}", start).replace("{domain}", domain))
    return file


def served(start: Callable[[], str], delay_s: float = 0.0) -> App:
    """The saved pages as a site, their links rewritten to it."""
    pages = {path.stem: path.read_bytes() for path in corpus("shop").glob("*.html")}
    assert len(pages) == PAGES

    def app(path: str, headers: Mapping[str, str]) -> SiteResponse:
        found = re.fullmatch(r"/shop/page/(\d+)/", path)
        if found is None or found[1] not in pages:
            return SiteResponse(404, b"not found", "text/plain")
        body = pages[found[1]].replace(NAME.encode(), start().encode())
        return SiteResponse(200, body, delay_s=delay_s)

    return app
