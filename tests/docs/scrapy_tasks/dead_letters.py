from pathlib import Path

import scrapy
from scrapy import signals

FAILED = Path("failed.txt")


class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["http://127.0.0.1:8085/catalog"]

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.note_error, signal=signals.spider_error)
        return spider

    async def start(self):
        if FAILED.exists():
            urls = FAILED.read_text().split()
            FAILED.unlink()
            for url in urls:
                yield scrapy.Request(url, self.parse_product, errback=self.note_failure)
        else:
            yield scrapy.Request(self.start_urls[0])

    def parse(self, response):
        yield from response.follow_all(
            css="a.product", callback=self.parse_product, errback=self.note_failure
        )
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        words = response.css("h1::text").get().split()
        yield {"sku": response.css(".sku::text").get(), "number": int(words[3])}

    def note_error(self, failure, response):
        self.note(response.url)

    def note_failure(self, failure):
        self.note(failure.request.url)

    def note(self, url):
        with FAILED.open("a") as file:
            file.write(f"{url}\n")
