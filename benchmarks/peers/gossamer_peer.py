"""Gossamer's spiders. run.py starts them with the ordinary command ``gossamer crawl``."""

from __future__ import annotations

from urllib.parse import urlsplit

from gossamer import Browsing, Item, Request, Spider, key


class Page(Item):
    url: str = key()
    title: str


class Product(Item):
    sku: str = key()
    name: str
    price: str


class Bench(Spider):
    seeds = ""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.allowed_domains = [urlsplit(url).hostname for url in self.seeds.split(",")]

    async def start(self):
        for url in self.seeds.split(","):
            yield Request(url)


class Pages(Bench):
    name = "pages"

    def parse(self, response):
        if response.is_html:
            yield Page(url=response.url, title=response.page.title)
            for url in response.links():
                yield Request(url)


class Catalogue(Bench):
    name = "catalogue"

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="nav.pages a")

    def parse_product(self, response):
        yield Product(
            sku=response.css("p.sku::text").get(),
            name=response.css("h1::text").get(),
            price=response.css("p.price::text").get(),
        )


class Scripted(Catalogue):
    name = "scripted"
    fetch = "browser"
    browser = Browsing(wait_for="h1")
