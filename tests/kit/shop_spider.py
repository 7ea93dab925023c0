"""A spider for the shop that is shipped, as a user would write it; ``{url}`` is where the shop is."""

SPIDER = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    name: str


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        yield Product(sku=response.css("article::attr(data-sku)").get(), name=response.css("h1::text").get())
"""
