import scrapy


class Fresh(scrapy.Spider):
    name = "fresh"
    start_urls = ["http://127.0.0.1:8085/catalog"]
    custom_settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "DEFAULT_REQUEST_HEADERS": {"Cache-Control": "max-age=0"},
    }

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        if "cached" not in response.flags:
            yield {"sku": response.css(".sku::text").get(), "price": response.css(".price::text").get()}
