"""Mistakes of beginners: each has a message that names the right cause, the place and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import FAST, gossamer

HEAD = """
from gossamer import Item, Request, Rule, Spider, key


class Product(Item):
    sku: str = key()
    name: str
    price: float


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]
"""
PARSE = """
    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")
"""
PRODUCT = """
    def parse_product(self, response):
        name = response.css("h1::text").get()
        yield Product(sku=response.css(".sku::text").get(), name=name, price=1.0)
"""
PRODUCTS = 27


class Mistake(NamedTuple):
    """A spider with a mistake in it, or a command, and what is said of it."""

    said: tuple[str, ...]
    code: int = 1
    spider: str = HEAD + PARSE + PRODUCT
    line: str = "crawl shop.py"
    unsaid: tuple[str, ...] = ()


def product(body: str) -> str:
    """The spider with another ``parse_product``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}{PARSE}\n    def parse_product(self, response):\n{lines}"


MISTAKES = {
    "a selector that finds nothing": Mistake(
        spider=product("sku = response.css('.skuu::text').get()\nyield Product(sku=sku, name='a', price=1)"),
        said=(
            "item dropped: Product.sku: nothing found by response.css('.skuu::text').get() (first on "
            "http://127.0.0.1:",
        ),
    ),
    "a selector of a dict that finds nothing": Mistake(
        spider=product("yield {'sku': response.css('.skuu::text').get()}") + "    require_fields = ['sku']\n",
        said=("item dropped: item.sku: nothing found by response.css('.skuu::text').get() (first on",),
    ),
    "a list for one value": Mistake(
        spider=product("yield Product(sku=response.css('.sku::text').getall(), name='a', price=1)"),
        said=("Product.sku: a list, not a string: getall() gives a list, get() the first value (first",),
    ),
    "a bug in a callback": Mistake(
        spider=product("yield {'name': response.css('h1::text').get().stripp()}"),
        said=(
            "27 pages failed in the spider's code: AttributeError: 'str' object has no attribute 'stripp' "
            "(parse_product() in shop.py, line 21); fix it, then `gossamer dead retry shop-1 --reason "
            "callback` and the same command",
        ),
        unsaid=("no callback gave an item",),
    ),
    "a bug that -q shows, too": Mistake(
        line="crawl shop.py -q",
        spider=product("yield {'name': response.css('h2::text').get().strip()}"),
        said=("27 pages failed", "mostly a selector that found nothing, for which get() gives None"),
    ),
}


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(PRODUCTS, per_page=9)) as site:
        yield site


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str, shop: Site, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    (tmp_path / "shop.py").write_text(mistake.spider.replace("{url}", shop.url))
    line = mistake.line.replace("{url}", shop.url).replace("{host}", shop.host)
    more = FAST if line.startswith("crawl") else ()
    said: str = gossamer(line, *more, cwd=tmp_path, code=mistake.code).stderr
    for text in mistake.said:
        assert said.count(text) == 1, (text, said)
    for text in ("bug in Gossamer", "error of Gossamer", " internal ", *mistake.unsaid):
        assert text not in said, (text, said)
    assert said.count("Traceback") <= 1
    assert len([row for row in said.splitlines() if " ERROR " in row]) <= 1, said
