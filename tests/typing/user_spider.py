"""What users write must pass a strict type checker: this file is checked, not run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal

from gossamer import CrawlResult, Item, Request, Response, Spider, crawl, key


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal | None = None


class Shop(Spider):
    name = "shop"
    start_urls = ["https://shop.example/"]
    allowed_domains = ["shop.example"]
    settings = {"delay": 1.0}

    async def start(self) -> AsyncIterator[Request]:
        yield Request("https://shop.example/", callback=self.parse, meta={"page": 1}, priority=2)

    def parse(self, response: Response) -> Iterator[Request]:
        for url in response.css("a.product::attr(href)").getall():
            yield response.follow(url, callback=self.parse_product, cb_kwargs={"page": 1})
        yield from response.follow_all(css="a.next", callback="parse")

    def parse_product(self, response: Response, page: int) -> Iterator[Product]:
        name: str | None = response.css("h1::text").get()
        yield Product(sku=f"{page}", name=name or "", price=Decimal(1))


async def main() -> int:
    result: CrawlResult = await crawl(Shop, max_pages=100)
    return result.items
