from collections.abc import Iterator
from typing import Any

import scrapy


class CatalogSpider(scrapy.Spider):
    name = "catalog"
    start_urls = ["http://127.0.0.1:8085/catalog"]

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next", callback=self.parse)

    def parse_product(self, response: Any) -> Iterator[dict[str, Any]]:
        yield {"sku": response.css(".sku::text").get(), "price": response.css(".price::text").get()}
