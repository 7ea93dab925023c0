"""The spiders of the tutorials, in Python and in TOML; ``{url}`` is where their site is."""

SHOP = """
from decimal import Decimal
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product, priority=1)
        yield from response.follow_all(css="a.next, nav a")

    def parse_product(self, response):
        yield Product(
            sku=response.css(".sku::text").get(),
            name=response.css("h1::text").get(),
            price=response.css(".price::text").get(),
        )
"""

SHOP_TOML = """
name = "shop"
start_urls = ["{url}/"]
allowed_domains = ["127.0.0.1"]

[items.Product]
key = "sku"

[items.Product.fields]
sku = ".sku"
name = "h1"
price = {{ select = ".price", type = "decimal" }}

[pages.listing]
follow = [
    {{ select = "a.product", page = "product", priority = 1 }},
    {{ select = "a.next, nav a" }},
]

[pages.product]
require = ["h1"]
items = "Product"
"""

QUOTES = """
from datetime import date, datetime
from gossamer import Item, Spider, key


class Quote(Item):
    text: str
    author: str
    tags: list[str]


class Author(Item):
    name: str = key()
    born: date
    description: str


class Quotes(Spider):
    name = "quotes"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield Quote(
                text=quote.css("span.text::text").get(),
                author=quote.css(".author::text").get(),
                tags=quote.css("a.tag::text").getall(),
            )
        yield from response.follow_all(xpath="//small/following-sibling::a", callback=self.parse_author)
        yield from response.follow_all(css="li.next a")

    def parse_author(self, response):
        born = datetime.strptime(response.css(".born::text").get(), "%B %d, %Y").date()
        text = " ".join(response.css(".description::text").get().split())
        yield Author(name=response.css("h3::text").get().strip(), born=born, description=text)
"""

QUOTES_TOML = """
name = "quotes"
start_urls = "{url}/"
allowed_domains = "127.0.0.1"

[items.Quote.fields]
text = "span.text::text"
author = ".author"
tags = {{ select = "a.tag", type = "list[str]" }}

[items.Author]
key = "name"

[items.Author.fields]
name = "h3"
born = {{ select = ".born", type = "date", format = "%B %d, %Y" }}
description = {{ select = ".description::text", clean = "squeeze" }}

[pages.quotes]
items = {{ type = "Quote", each = "div.quote" }}
follow = {{ select = "//small/following-sibling::a", allow = "/author/" }}
paginate = {{ next = "li.next a" }}

[pages.author]
match = "/author/"
items = "Author"
"""
