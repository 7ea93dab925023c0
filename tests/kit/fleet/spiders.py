"""The spiders of the fleet's tests, as a user would write them: files that say where their site is."""

from __future__ import annotations

from pathlib import Path

CATALOGUE = """
from decimal import Decimal

from gossamer import Item, Spider, key


class Category(Item):
    number: int = key()
    title: str
    products: int


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal
    stock: int
    text: str


class Brand(Item):
    name: str = key()
    country: str


class Catalogue(Spider):
    name = "catalogue"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        number = response.css("h1::attr(data-number)").get()
        if number is not None:
            products = response.css("h1::attr(data-products)").get()
            yield Category(number=number, title=response.css("h1::text").get(), products=products)
        for article in response.css("article"):
            yield Product(
                sku=article.attrib["data-sku"],
                name=article.css("h1::text").get(),
                price=article.css(".price::text").get(),
                stock=article.css(".stock::text").get(),
                text=article.css(".text::text").get(),
            )
            brand = article.css(".brand")
            yield Brand(name=brand.css("::text").get(), country=brand.attrib["data-country"])
        yield from response.follow_all(css="a")
"""

HOSTS = """
from gossamer import Item, Spider, key


class Page(Item):
    host: str = key()
    number: int = key()


class Hosts(Spider):
    name = "hosts"
    start_urls = {urls}

    def parse(self, response):
        heading = response.css("h1")
        yield Page(host=heading.attrib["data-host"], number=heading.attrib["data-number"])
        yield from response.follow_all(css="h1 ~ a")
"""

DOCS = """
from hashlib import sha256

from gossamer import Item, Request, Spider, key


class Page(Item):
    url: str = key()
    title: str
    text: str


class Docs(Spider):
    name = "docs"
    start_urls = ["{url}/{start}"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        if not response.is_html:
            return
        text = response.page.visible_text()
        yield Page(url=response.url, title=response.page.title, text=sha256(text.encode()).hexdigest())
        for url in response.links():
            yield Request(url)
"""
"""Unlike the generic spider's, its items say nothing of the way that led to a page, which may differ."""


def write(folder: Path, name: str, text: str, **where: str) -> Path:
    """The file of a spider."""
    file = folder / f"{name}.py"
    for placeholder, value in where.items():
        text = text.replace("{" + placeholder + "}", value)
    file.write_text(text)
    return file
