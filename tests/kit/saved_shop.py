"""The 48 saved listing pages of a shop: replayed under the shop's own name, or served on loopback.

The pages are made here, so that every product is known. Those of a real shop, of the same numbers, are among
the corpora and add cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from gossamer.testing.site import App, SiteResponse
from kit.corpora import corpus

PAGES = 48
PRODUCTS = 755
PER_PAGE = 16
COLOURS = ("Amber", "Brass", "Café", "Dusk", "Elm", "Fjord", "Glass", "Hazel", "Ink", "Jade", "Nøkk", "Pearl")
THINGS = ("Bowl", "Chair", "Desk", "Easel", "Frame", "Globe", "Hook", "Jar", "Kettle", "Lamp", "Mug")

SPIDER = """
from decimal import Decimal

from gossamer import Item, Spider, key


class Product(Item):
    id: int = key()
    name: str
    price: Decimal


class Shop(Spider):
    name = "saved-shop"
    start_urls = ["{start}/shop/page/1/"]
    allowed_domains = ["{domain}"]

    def parse(self, response):
        for product in response.css("li.product"):
            yield Product(
                id=product.css("[data-product_id]::attr(data-product_id)").get(),
                name=product.css("h2::text").get(),
                price=product.css(".amount::text").re_first(r"[\\d.]+"),
            )
        yield from response.follow_all(css="a.page-numbers")
"""


@dataclass(frozen=True)
class SavedShop:
    """The pages of a shop by their numbers, and the name that their links carry."""

    name: str
    pages: Mapping[str, bytes]


def made_shop() -> SavedShop:
    """A shop of ours: ids without an order, names of every kind of character, links with its own name."""
    name = "https://saved-shop.example"
    ids = random.Random(5).sample(range(10, 100_000), PRODUCTS)
    pages = {
        str(number): _listing(name, number, ids[(number - 1) * PER_PAGE : number * PER_PAGE])
        for number in range(1, PAGES + 1)
    }
    return SavedShop(name, pages)


def real_shop() -> SavedShop:
    """The saved pages of a real shop; only for tests that are marked with ``from_corpus("shop")``."""
    return SavedShop(
        "https://scrapeme.live", {path.stem: path.read_bytes() for path in corpus("shop").glob("*.html")}
    )


def _listing(name: str, number: int, ids: list[int]) -> bytes:
    # So many that no two processes which keep a page to themselves cut the others off from the rest.
    near = sorted({1, 2, 3, *range(number - 3, number + 4), PAGES - 1, PAGES} & {*range(1, PAGES + 1)})
    links = "".join(
        f'<li><span class="page-numbers current">{other}</span></li>'
        if other == number
        else f'<li><a class="page-numbers" href="{name}/shop/page/{other}/">{other}</a></li>'
        for other in near
    )
    products = "".join(_product(name, each) for each in ids)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="UTF-8">'
        f"<title>Products &#8211; Page {number} &#8211; The Saved Shop</title>"
        f'<link rel="canonical" href="{name}/shop/page/{number}/"></head>\n'
        '<body class="archive"><nav><a href="#content">Skip</a><a href="javascript:void(0)">Menu</a></nav>'
        f'<main id="content"><ul class="products">{products}</ul>'
        f'<nav class="pagination"><ul>{links}</ul></nav></main><!-- {number} of {PAGES} --></body></html>\n'
    ).encode()


def _product(name: str, number: int) -> str:
    title = f"{COLOURS[number % len(COLOURS)]} {THINGS[number % len(THINGS)]} & “{number}”"
    stock = "instock" if number % 3 else "outofstock"
    return (
        f'<li class="product type-product post-{number} {stock}"><a href="#{number}">'
        f'<img alt="" src="{name}/img/{number}.jpg"><h2>{escape(title)}</h2><span class="price">'
        f'<span class="amount"><span class="symbol">£</span>{1 + number % 300}.{number % 100:02}</span>'
        f'</span></a><a data-product_id="{number}" rel="nofollow" class="button" href="#add">Add</a></li>\n'
    )


def spider_file(folder: Path, start: str) -> Path:
    """A spider for the shop at ``start``, as a user would write it."""
    file = folder / "shop_spider.py"
    domain = start.partition("://")[2]
    file.write_text(SPIDER.replace("{start}", start).replace("{domain}", domain))
    return file


def served(start: Callable[[], str], delay_s: float = 0.0, shop: SavedShop | None = None) -> App:
    """The saved pages as a site, their links rewritten to it."""
    shop = shop or made_shop()
    assert len(shop.pages) == PAGES

    def app(path: str, headers: Mapping[str, str]) -> SiteResponse:
        found = re.fullmatch(r"/shop/page/(\d+)/", path)
        if found is None or found[1] not in shop.pages:
            return SiteResponse(404, b"not found", "text/plain")
        body = shop.pages[found[1]].replace(shop.name.encode(), start().encode())
        return SiteResponse(200, body, delay_s=delay_s)

    return app
