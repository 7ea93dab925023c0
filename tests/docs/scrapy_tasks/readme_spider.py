from dataclasses import dataclass
from decimal import Decimal

import scrapy
from scrapy.exceptions import DropItem


@dataclass
class Product:
    sku: str
    name: str
    price: Decimal


class DuplicatesPipeline:
    def __init__(self):
        self.seen = set()

    def process_item(self, item):
        if item.sku in self.seen:
            raise DropItem(f"seen again: {item.sku}")
        self.seen.add(item.sku)
        return item


class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["http://127.0.0.1:8085/"]
    allowed_domains = ["127.0.0.1"]
    custom_settings = {"ITEM_PIPELINES": {DuplicatesPipeline: 300}}

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product, priority=1)
        yield from response.follow_all(css="a.next, nav a")

    def parse_product(self, response):
        yield Product(
            sku=response.css(".sku::text").get(),
            name=response.css("h1::text").get(),
            price=Decimal(response.css(".price::text").get()),
        )
