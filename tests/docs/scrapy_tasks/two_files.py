from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Shop(CrawlSpider):
    name = "shop"
    start_urls = ["http://127.0.0.1:8085/catalog"]
    rules = [Rule(LinkExtractor(allow="/product/"), callback="parse_product", follow=True)]
    custom_settings = {
        "FEEDS": {
            "names.csv": {"format": "csv", "fields": ["name", "sku"], "overwrite": True},
            "prices.csv": {"format": "csv", "fields": ["sku", "price"], "overwrite": True},
        }
    }

    def parse_product(self, response):
        texts = {name: f".{name}::text" for name in ("sku", "price")} | {"name": "h1::text"}
        yield {name: response.css(query).get() for name, query in texts.items()}
