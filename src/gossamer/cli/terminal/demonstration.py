"""The crawl of ``gossamer demo``: a whole spider in thirty lines, and a look at its results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from shutil import which
from typing import TYPE_CHECKING

from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.running import CrawlCommand, run_to_end
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.exits import ExitCode
from gossamer.core.requests import Request
from gossamer.items.item import Item, key
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread

if TYPE_CHECKING:
    from gossamer.core.jobs import StoredItem
    from gossamer.wiring.backends import Backends

SAMPLE = 5
"""Number of items shown at the end."""
PACE = {"delay": 0.01, "per_host": 8}
"""Short, because the shop is local."""


class Product(Item):
    """A product of the shop; ``sku`` identifies it."""

    sku: str = key()
    name: str
    price: Decimal


class DemoSpider(Spider):
    """Follows the catalogue and takes every product."""

    name = "demo"

    def parse(self, response: Response) -> Iterator[Request]:
        """A page of the catalogue: its products, and the next page."""
        yield from response.follow_all(css="a.product", callback="parse_product")
        yield from response.follow_all(css="a.next")

    def parse_product(self, response: Response) -> Iterator[Product]:
        """The page of a product."""
        page = response.css("article")
        yield Product(
            sku=page.css("::attr(data-sku)").get(""),
            name=page.css("h1::text").get(""),
            price=page.css(".price::text").get(""),
        )


def crawl_demo(products: int, data: str, *, as_json: bool) -> ExitCode:
    """Serve the shop, crawl it and show the items. Starts afresh each time, as the port changes."""
    with serve_in_thread(Shop(products)) as site:
        start = f"{site.url.rstrip('/')}/catalog"
        spider = type("Demo", (DemoSpider,), {"start_urls": [start], "allowed_domains": [site.host]})
        if not as_json:
            sys.stderr.write(f"a shop with {products:,} products is at {site.url}; crawling it\n")
        plan = CrawlCommand(spider, overrides={"data": data, **PACE}, fresh=True, as_json=as_json)
        end = run_to_end(plan)
    if not as_json:
        _show_items(data)
    return end


def _show_items(data: str) -> None:
    """Print some items, and the next steps."""

    async def first(backends: Backends) -> list[StoredItem]:
        job = await backends.book.get(DemoSpider.name)
        found: list[StoredItem] = []
        async for item in backends.store.read_items(job):
            found.append(item)
            if len(found) == SAMPLE:
                break
        return found

    items = run_with_backends(settings_of(data), first)
    print_table(
        ("sku", "name", "price"),
        ([item.data[name] for name in ("sku", "name", "price")] for item in items),
        right=["price"],
    )
    gossamer = sys.argv[0]  # in a checkout it is .venv/bin/gossamer
    if which("gossamer") or not gossamer.endswith("/gossamer"):
        gossamer = "gossamer"
    sys.stderr.write(
        f"\neverything is in {data}/gossamer.db; continue with\n"
        f"  {gossamer} export demo --data {data} -o products.csv\n"
        f"  {gossamer} status demo --data {data}\n"
        f"  {gossamer} new shop                 a project of your own\n"
        f"  {gossamer} crawl https://...        or just a site\n"
    )
