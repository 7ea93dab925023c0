"""A crawl by link rules: killed in the middle and continued, it has every page that its rules name, once."""

import signal
import time
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import asked
from kit.programs import crawl, rows, start

PRODUCTS = 120
SLOW = ("--delay", "0", "--per-host", "2", "--concurrency", "2", "-s", "retry_backoff=0.1")
SPIDER = """
from gossamer import Rule, Spider


class Ruled(Spider):
    name = "ruled"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]
    rules = [Rule(allow="/product/", callback="parse_product", follow=True), Rule(css="a.next", priority=-1)]

    def parse_product(self, response):
        yield {{"sku": response.css(".sku::text").get()}}
"""


def spider_file(folder: Path, site: Site) -> Path:
    path = folder / "ruled.py"
    path.write_text(SPIDER.format(url=site.url))
    return path


@pytest.mark.long
def test_a_crawl_by_rules_that_is_killed_continues(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(Shop(PRODUCTS, delay_s=0.01)) as site:
        options = (spider_file(tmp_path, site), "--data", data, *SLOW)
        process = start("crawl", *options)
        deadline = time.monotonic() + 30
        while sum("/product/" in hit.path for hit in site.hits) < 20 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        before = rows(data, "select count(*) from item")[0][0]
        assert before < PRODUCTS, "the crawl was killed in the middle"
        crawl(*options)
    assert rows(data, "select count(*) from item") == [(PRODUCTS,)]


def test_parse_shows_what_rules_do(tmp_path: Path) -> None:
    with serve_in_thread(Shop(40)) as site:
        spider = spider_file(tmp_path, site)
        found = asked(f"parse {site.url}/catalog --spider {spider}", cwd=tmp_path)
        assert found["rules"] == [
            {"rule": "rules[0] allow='/product/'", "callback": "parse_product", "follow": True, "links": 22},
            {"rule": "rules[1] css='a.next'", "callback": "follow_rules", "follow": True, "links": 1},
        ]
        assert len(found["requests"]) == 23
        again = asked(f"parse {site.url}/catalog --spider {spider} --callback parse_product", cwd=tmp_path)
        assert (again["rules"], again["requests"]) == ([], [])
