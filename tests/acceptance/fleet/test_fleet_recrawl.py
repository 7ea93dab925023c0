"""A fleet comes back to a shop: what has not changed is not sent again, and the job has what changed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import Fleet, Servers

SPIDER = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    price: str


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        yield Product(sku=response.css(".sku::text").get(), price=response.css(".price::text").get())
"""


@pytest.mark.long
def test_a_shop_of_which_one_percent_changes(servers: Servers, tmp_path: Path) -> None:
    shop = Shop(400, per_page=40, page_bytes=2_000, validators=True)
    with serve_in_thread(shop) as site, Fleet(tmp_path, servers, workers=2) as fleet:
        spider = tmp_path / "shop.py"
        spider.write_text(SPIDER.replace("{url}", site.url))
        first = fleet.crawl(spider, "-s", "freshness.on=true")
        assert (first["items"], first["finish_reason"]) == (400, "finished")
        changed = shop.change_products(0.01)
        site.hits.clear()
        second = fleet.crawl(spider, "-s", "freshness.recrawl=all")
        sent = len(changed) + len({number // 40 for number in changed})
        statuses = Counter(hit.status for hit in site.hits if hit.path != "/robots.txt")
        assert statuses == {200: sent, 304: first["pages"] - sent}
        assert (second["items"], second["pages"], second["dead"]) == (len(changed), sent, 0)
        exported = fleet.run("export", second["job"]).stdout.splitlines()
        assert {row["sku"]: row["price"] for row in map(json.loads, exported)} == {
            shop.sku(number): shop.product(number)["price"] for number in changed
        }
        site.hits.clear()
        third = fleet.crawl(spider, "--recrawl")
        assert third["finish_reason"] == "finished"
        assert [hit.path for hit in site.hits if hit.path != "/robots.txt"] == ["/catalog"]
        fleet.all_alive()


BROKEN = """
import pathlib

from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)

    def parse_product(self, response):
        sku = response.css(".sku::text").get()
        if sku.endswith("7") and pathlib.Path("{flag}").exists():
            raise ValueError("this one is odd")
        yield Product(sku=sku)
"""


@pytest.mark.long
def test_a_page_that_was_fetched_and_not_read_is_asked_for_whole(servers: Servers, tmp_path: Path) -> None:
    """Where other workers run the callbacks, a page is there before it is read, and that may fail."""
    shop = Shop(20, per_page=20, page_bytes=2_000, related=0, validators=True)
    env = {"GOSSAMER_EXTRACT__DEFERRED": "true", "GOSSAMER_ARCHIVE__URL": str(tmp_path / "pages")}
    with serve_in_thread(shop) as site, Fleet(tmp_path, servers, workers=0, env=env) as fleet:
        for lanes in ("http", "extract"):
            fleet.add_worker("--lanes", lanes)
        flag, spider = tmp_path / "broken", tmp_path / "shop.py"
        flag.touch()
        spider.write_text(BROKEN.replace("{url}", site.url).replace("{flag}", str(flag)))
        first = fleet.crawl(spider, "-s", "freshness.on=true")
        assert (first["items"], first["dead"]) == (18, 2)
        flag.unlink()
        site.hits.clear()
        second = fleet.crawl(spider, "--recrawl")
        answers = {hit.path: hit.status for hit in site.hits if hit.path != "/robots.txt"}
        odd = {shop.product_path(7), shop.product_path(17)}
        assert answers == {"/catalog": 304, **dict.fromkeys(odd, 200)}
        assert (second["items"], second["dead"]) == (2, 0)
        site.hits.clear()
        fleet.crawl(spider, "-s", "freshness.recrawl=all")
        assert {hit.status for hit in site.hits if hit.path != "/robots.txt"} == {304}
