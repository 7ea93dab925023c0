from dataclasses import dataclass
from decimal import Decimal

import scrapy


@dataclass
class Product:
    sku: str
    price: Decimal
    dollars: Decimal = Decimal(0)


class Dollars:
    def __init__(self, rate):
        self.rate = rate

    @classmethod
    def from_crawler(cls, crawler):
        return cls(Decimal(crawler.settings.get("DOLLARS_RATE", "1.1")))

    def process_item(self, item):
        item.dollars = round(item.price * self.rate, 2)
        return item


class Shop(scrapy.Spider):
    name = "dollars"
    start_urls = ["http://127.0.0.1:8085/catalog"]
    custom_settings = {"ITEM_PIPELINES": {Dollars: 300}}

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        price = Decimal(response.css(".price::text").get())
        yield Product(sku=response.css(".sku::text").get(), price=price)
