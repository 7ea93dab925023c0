import scrapy


class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["http://127.0.0.1:8085/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        yield {"sku": response.css(".sku::text").get(), "name": response.css("h1::text").get()}
