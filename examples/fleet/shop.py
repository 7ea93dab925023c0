from collections.abc import Iterator
from decimal import Decimal

from gossamer import Item, Request, Response, Spider, key


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal


class Shop(Spider):
    name = "shop"
    start_urls = ["http://127.0.0.1:8085/catalog"]
    allowed_domains = ["127.0.0.1:8085"]

    def parse(self, response: Response) -> Iterator[Request]:
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response: Response) -> Iterator[Product]:
        yield Product(
            sku=response.css(".sku::text").get(),
            name=response.css("h1::text").get(),
            price=response.css(".price::text").get(),
        )
