"""A shop whose listing says "1-16 of 4,213": every page once, details first, in the order they were seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.programs import crawl, run

PER_PAGE = 16
SPIDER = """
from gossamer import Item, Paginate, Spider, key


class Product(Item):
    sku: str = key()
    name: str


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]
    pages = Paginate(url="/catalog/page/{{page}}/", total=".count::text", of="products")

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product, priority={details})
        yield from self.pages.follow(response)

    def parse_product(self, response):
        yield Product(sku=response.css(".sku::text").get(), name=response.css("h1::text").get())
"""


def shop(products: int) -> Shop:
    return Shop(products, PER_PAGE, page_bytes=900, has_count=True)


def paths_in(site: Site) -> list[str]:
    """What was asked for, in its order, without robots.txt."""
    return [hit.path for hit in site.log.hits if hit.path != "/robots.txt"]


def spider_in(folder: Path, url: str, details: int) -> Path:
    file = folder / "shop.py"
    file.write_text(SPIDER.format(url=url, details=details))
    return file


@pytest.mark.parametrize("products", [613, pytest.param(4213, marks=pytest.mark.thorough)])
def test_every_page_once_and_details_first(products: int, tmp_path: Path) -> None:
    made = shop(products)
    listings = made.catalog_pages
    with serve_in_thread(made) as site:
        spider = spider_in(tmp_path, site.url, details=1)
        result = crawl(spider, "--data", tmp_path / "data", "--delay", "0", "--per-host", "1")
        paths = paths_in(site)
    assert result["goals"] == [{"what": "products", "done": products, "total": products}]
    status = json.loads(run("status", "shop", "--data", tmp_path / "data", "--json").stdout)
    assert status["goals"] == result["goals"]
    assert (
        f"listed    {products:,} of {products:,} products"
        in run("status", "shop", "--data", tmp_path / "data").stdout
    )
    assert (result["pages"], result["items"], result["dead"]) == (listings + products, products, 0)
    assert len(paths) == len(set(paths)) == listings + products
    details = [path for path in paths if path.startswith("/product/")]
    assert details == [made.product_path(number) for number in range(products)]
    assert paths[1] == details[0], "the details of a listing come before the next listing"


def test_listings_first_where_that_is_asked_for(tmp_path: Path) -> None:
    made = shop(200)
    with serve_in_thread(made) as site:
        spider = spider_in(tmp_path, site.url, details=-1)
        crawl(spider, "--data", tmp_path / "data", "--delay", "0", "--per-host", "1")
        paths = paths_in(site)
    assert paths[: made.catalog_pages] == [made.catalog_path(page) for page in range(1, 14)]
    assert paths[made.catalog_pages :] == [made.product_path(number) for number in range(200)]
