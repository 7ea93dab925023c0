"""Scrapy as fast as its settings sensibly make it: ``scrapy_peer.py SITE SEEDS PER_HOST DELAY ITEMS``.

A site ``NAME+h2`` is fetched by HTTP/2.
"""

from __future__ import annotations

import sys
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse


class Bench(scrapy.Spider):
    def __init__(self, seeds, **arguments):
        super().__init__(**arguments)
        self.seeds = seeds.split(",") if isinstance(seeds, str) else seeds  # Gossamer's -a is a text
        self.allowed_domains = [urlsplit(url).hostname for url in seeds]

    async def start(self):
        for url in self.seeds:  # start_urls are not filtered: a page that links back is fetched once more
            yield scrapy.Request(url)


class Pages(Bench):
    name = "pages"

    def parse(self, response):
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.xpath("//title/text()").get()}
        base = f"{urljoin(response.url, '/')}"
        hrefs = dict.fromkeys(href.partition("#")[0] for href in response.xpath("//a/@href").getall())
        # Each page's links once, and none that lead elsewhere: both cost Scrapy more than this does.
        for url in dict.fromkeys(urljoin(response.url, href) for href in hrefs):
            if url.startswith(base):
                yield scrapy.Request(url)


class Catalogue(Bench):
    name = "catalogue"

    def parse(self, response):
        for href in dict.fromkeys(response.css("a.product::attr(href)").getall()):
            yield scrapy.Request(urljoin(response.url, href), callback=self.parse_product)
        for href in dict.fromkeys(response.css("nav.pages a::attr(href)").getall()):
            yield scrapy.Request(urljoin(response.url, href))

    def parse_product(self, response):
        yield {
            "sku": response.css("p.sku::text").get(),
            "name": response.css("h1::text").get(),
            "price": response.css("p.price::text").get(),
        }


def main(workload: str, seeds: str, per_host: str, delay: str, items: str) -> None:
    http2 = {"https": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"}
    process = CrawlerProcess(
        {
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "CONCURRENT_REQUESTS": max(int(per_host), len(seeds.split(","))),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(per_host),
            "DOWNLOAD_DELAY": float(delay),
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "DOWNLOAD_HANDLERS": http2 if workload.endswith("+h2") else {},
            "FEEDS": {items: {"format": "jsonlines", "encoding": "utf-8"}},
        }
    )
    process.crawl(Catalogue if workload.startswith("catalogue") else Pages, seeds=seeds.split(","))
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
