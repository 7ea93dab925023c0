"""The spider of the pairs: the same callbacks for Gossamer's classes and for Scrapy's.

Features add to it: attributes and methods of the class, the type of a product's picture, fields, files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

NATIVE = """
from gossamer import FileRef, Item, Request, Spider, key


class Page(Item):
    path: str = key()
    title: str


class Product(Item):
    sku: str = key()
    price: str
    image: {image}


class Letter(Item):
    failed: str = key()
"""
SCRAPY = """
from dataclasses import dataclass

from scrapy import FormRequest, Request, Spider


@dataclass
class Page:
    path: str
    title: str


@dataclass
class Product:
    sku: str
    price: str
    image: str
    {fields}


@dataclass
class Letter:
    failed: str
"""
CLASS = """

def path_of(url):
    return "/" + url.split("/", 3)[3].partition("?")[0]


class Everything(Spider):
    name = "everything"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]
{more}

    def parse(self, response):
        yield Page(path=path_of(response.url), title=response.css("h1::text").get())
        yield from self.follow_links(response)

    def follow_links(self, response):
        yield from response.follow_all(css="a.page")
        yield from response.follow_all(css="a.member", callback=self.parse_member)
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.sitemap", callback=self.parse_sitemap)
        yield from response.follow_all(css="a.api", callback=self.parse_api)
        for link in response.css("a.letter::attr(href)").getall():
            yield response.follow(link, callback=self.parse_letter, errback=self.failed)
        if response.css("form.search"):
            yield self.search(response)

    def parse_product(self, response):
        price = response.css(".price::text").get().strip()
        image = response.urljoin(response.css("img::attr(src)").get())
        yield Product(sku=response.css("article::attr(data-sku)").get(), price=price, image=image{fields})
        yield from self.follow_links(response)
{files}

    def parse_letter(self, response):
        if response.css("article"):
            yield from self.parse_product(response)
        yield Page(path=path_of(response.url), title=response.css("h1::text").get())

    def parse_member(self, response):
        if response.css("a.logout"):
            yield from self.parse(response)

    def parse_sitemap(self, response):
        for path in response.xpath("//*[local-name()='loc']/text()").getall():
            yield response.follow(path, callback=self.parse_product)

    def parse_api(self, response):
        found = response.json()
        for path in found["products"]:
            yield response.follow(path, callback=self.parse_product)
        if found["next"]:
            yield response.follow(found["next"], callback=self.parse_api)

    def failed(self, failure):
        yield Letter(failed=path_of(failure.request.url))
"""
NATIVE_SEARCH = """
def search(self, response):
    return response.form({"q": "tea"}, self.parse, css="form.search")
"""
SCRAPY_SEARCH = """
def search(self, response):
    return FormRequest.from_response(response, formcss="form.search", formdata={"q": "tea"})
"""


@dataclass(frozen=True)
class Parts:
    """A feature's additions to the spider."""

    more: str = ""  # attributes and methods
    image: str = ""  # the type of a product's picture
    fields: str = ""  # further fields of Scrapy's product
    values: str = ""  # their values
    files: str = ""  # the end of the callback of a product

    def __add__(self, other: Parts) -> Parts:
        return Parts(*(getattr(self, name) + getattr(other, name) for name in Parts.__dataclass_fields__))


NO_PARTS = Parts()


def write_spider(folder: Path, url: str, parts: Parts, *, is_scrapy: bool = False) -> Path:
    """The spider's file."""
    head = SCRAPY if is_scrapy else NATIVE
    text = (head + CLASS).replace("{image}", parts.image or "str")
    text = text.replace("{fields}", parts.fields, 1) if is_scrapy else text
    text = text.replace("{fields}", parts.values).replace("{files}", indent(parts.files, " " * 8))
    more = (SCRAPY_SEARCH if is_scrapy else NATIVE_SEARCH) + parts.more
    file = folder / "everything.py"
    file.write_text(text.replace("{more}", indent(more, " " * 4)).replace("{url}", url))
    return file
