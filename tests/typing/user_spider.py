"""What users write must pass a strict type checker: this file is checked, not run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal

from gossamer import (
    Browsing,
    Click,
    CrawlResult,
    CSVFeedSpider,
    Failure,
    Item,
    Login,
    PageDoneEvent,
    Request,
    Response,
    Rule,
    Selector,
    Spider,
    Type,
    XMLFeedSpider,
    crawl,
    key,
    start_crawl,
)


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


class Club(Spider):
    name = "club"
    login_url = "https://club.example/login"

    async def log_in(self, login: Login) -> bool:
        page = await login.get(self.login_url)
        answer = await login.submit(page, {"user": "me", "password": "tea"})
        return answer.status == 200

    async def start(self) -> AsyncIterator[Request]:
        steps = Browsing(actions=[Click("#more", optional=True), Type("#q", "lamp")], capture=["*/api/*"])
        yield Request("https://club.example/", self.parse, browser=steps, errback=self.failed)
        yield Request("https://club.example/api", headers={"X-A": "1", "Accept": None}, form={"page": 1})

    def parse(self, page: Response) -> Iterator[Request]:
        yield page.form({"q": "tea", "all": True}, self.parse)

    def failed(self, failure: Failure) -> dict[str, str]:
        return {"url": failure.request.url, "fault": failure.fault}


class Ruled(Spider):
    name = "ruled"
    rules = [Rule(allow=r"/p/", deny=["/no"], callback="parse_product", follow=True), Rule(css="a.next")]

    def parse_product(self, response: Response) -> Iterator[Request]:
        urls: list[str] = response.links(allow="/p/", deny_domains=["other.example"], css=["main", "aside"])
        yield from response.follow_all(allow="/p/", callback=self.parse_product, priority=1)
        yield from response.follow_all(urls)
        first: str | None = response.jmespath("products[].name").get()
        yield response.follow(first or "/")


class Prices(CSVFeedSpider):
    name = "prices"
    delimiter = ";"

    def parse_row(self, response: Response, row: dict[str, str]) -> Iterator[Product]:
        yield Product(sku=row["sku"], name=row["name"])


class News(XMLFeedSpider):
    name = "news"
    namespaces = [("g", "http://base.google.com/ns/1.0")]

    async def parse_node(self, response: Response, node: Selector) -> Product:
        return Product(sku=node.xpath("g:id/text()").get(""), name=node.css("title::text").get(""))


async def main() -> int:
    result: CrawlResult = await crawl(Shop, max_pages=100)
    prices: list[Decimal | None] = [product.price async for product in result.items(Product)]
    page: list[Product | Request] = [
        *Shop().parse_product(Response.from_html("https://shop.example/1", "<h1>x</h1>"), page=1)
    ]
    return result.items + len(prices) + len(page)


async def stop_early() -> float:
    async with start_crawl(Shop, memory=True) as crawling:
        async for event in crawling.events():
            if isinstance(event, PageDoneEvent) and event.attempt.status == 403:
                crawling.stop()
    result = await crawling.wait()
    return result.stats.get("products", 0)
