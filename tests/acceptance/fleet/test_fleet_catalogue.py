"""A catalogue that announces its size, crawled on a fleet by spiders in Python and TOML: every page once."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.test_catalogues import paths_in, shop, spider_in
from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import FULL, Fleet, Servers

PRODUCTS = 4213 if FULL else 213
DECLARATIVE = """
name = "shop"
start_urls = "{url}/catalog"
allowed_domains = "127.0.0.1"

[items.Product]
key = "sku"
fields = {{ sku = ".sku", name = "h1" }}

[pages.listing]
follow = {{ select = "a.product", page = "product", priority = 1 }}
paginate = {{ url = "/catalog/page/{{page}}/", total = ".count", of = "products" }}

[pages.product]
items = "Product"
"""

pytestmark = pytest.mark.timeout(300)


@pytest.mark.long
@pytest.mark.parametrize("form", [pytest.param("python", marks=pytest.mark.thorough), "toml"])
def test_every_page_once_and_the_announced_total_is_known(
    form: str, servers: Servers, tmp_path: Path
) -> None:
    made = shop(PRODUCTS)
    with serve_in_thread(made) as site, Fleet(tmp_path, servers, workers=2) as fleet:
        if form == "python":
            spider = spider_in(tmp_path, site.url, details=1)
        else:
            spider = tmp_path / "shop.toml"
            spider.write_text(DECLARATIVE.format(url=site.url))
        result = fleet.crawl(spider)
        paths = paths_in(site)
    assert (result["finish_reason"], result["items"], result["dead"]) == ("finished", PRODUCTS, 0)
    assert result["goals"] == [{"what": "products", "done": PRODUCTS, "total": PRODUCTS}]
    assert len(paths) == len(set(paths)) == made.catalog_pages + PRODUCTS
