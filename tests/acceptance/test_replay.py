"""Archived pages are parsed again with a mended spider: nobody is asked, and what differs is exactly that."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.testing.shop import Shop
from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.saved_shop import PAGES, PRODUCTS, SavedShop, made_shop, served, spider_file

RENAMED_FROM = 25
"""The page from which on the shop calls its prices otherwise."""


def renamed_shop() -> SavedShop:
    shop = made_shop()
    pages = {
        number: body.replace(b'class="amount"', b'class="sum"') if int(number) >= RENAMED_FROM else body
        for number, body in shop.pages.items()
    }
    return SavedShop(shop.name, pages)


def ids_on(shop: SavedShop, first: int, last: int) -> set[str]:
    """The products of some pages, by what the pages say."""
    return {
        found.decode()
        for number in range(first, last + 1)
        for found in re.findall(rb'data-product_id="(\d+)"', shop.pages[str(number)])
    }


def mend(spider: Path, old: str, new: str) -> None:
    text = spider.read_text()
    assert old in text
    spider.write_text(text.replace(old, new))


def test_a_mended_spider_restores_all_products_and_asks_nobody(tmp_path: Path) -> None:
    shop = renamed_shop()
    with serve_in_thread(served(lambda: site.url, shop=shop)) as site:
        spider = spider_file(tmp_path, site.url)
        crawled = asked(f"crawl {spider}", *FAST, "--archive", cwd=tmp_path)
        lost = ids_on(shop, RENAMED_FROM, PAGES)
        assert (crawled["pages"], crawled["items"]) == (PAGES, PRODUCTS - len(lost))
        mend(spider, '".amount::text"', '".amount::text, .sum::text"')
        (tmp_path / "elsewhere").mkdir()
        hits = len(site.hits)
        replayed = asked("replay saved-shop --data ../.gossamer --diff", cwd=tmp_path / "elsewhere")
        assert (replayed["pages"], replayed["items"], replayed["missing"]) == (PAGES, PRODUCTS, 0)
        assert {each["key"] for each in replayed["changes"]} == lost
        assert {each["change"] for each in replayed["changes"]} == {"added"}
        assert (replayed["added"], replayed["unchanged"]) == (len(lost), PRODUCTS - len(lost))
        shown = gossamer("replay saved-shop --diff", cwd=tmp_path)
        assert len(re.findall(r"^added ", shown.stdout, re.MULTILINE)) == 20
        assert f"... and {len(lost) - 20} more items; --json lists all" in shown.stdout
        assert f"{PRODUCTS} ({len(lost)} added, {PRODUCTS - len(lost)} as before)" in shown.stderr
        status = asked("status saved-shop", cwd=tmp_path)
        assert status["items"] == PRODUCTS - len(lost), "the crawl is as it was"
        gossamer("replay saved-shop --promote r1", cwd=tmp_path)
        lines = gossamer("export saved-shop", cwd=tmp_path).stdout.splitlines()
        assert {str(json.loads(line)["id"]) for line in lines} == ids_on(shop, 1, PAGES)
        again = asked("replay saved-shop", cwd=tmp_path)
        assert (again["added"], again["changed"], again["lost"], again["unchanged"]) == (0, 0, 0, PRODUCTS)
        gossamer("replay saved-shop --discard 1", cwd=tmp_path)
        assert not Path(replayed["data"]).exists()
        mend(spider, "li.product", "li.produce")
        for more in ("", "--json"):
            noted = gossamer(f"replay saved-shop {more}", cwd=tmp_path).stderr
            assert "no callback gave an item: parse() on 48 pages" in noted
        assert len(site.hits) == hits, "nobody was asked"


AGAIN_SPIDER = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    price: str | None = None


class Again(Spider):
    name = "again"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        yield Product(sku=response.css(".sku::text").get(), price=response.css(".cost::text").get())
"""


def test_of_a_re_crawl_what_it_was_sent_is_parsed_again(tmp_path: Path) -> None:
    """The pages that lead to it had not changed, and other jobs have them."""
    shop = Shop(40, per_page=10, page_bytes=2_000, related=0, validators=True)
    with serve_in_thread(shop) as site:
        spider = tmp_path / "again.py"
        spider.write_text(AGAIN_SPIDER.replace("{url}", site.url))
        asked("crawl again.py", *FAST, "--archive", "-s", "freshness.on=true", cwd=tmp_path)
        changed = {shop.sku(number) for number in shop.change_products(0.05)}
        again = ("--archive", "-s", "freshness.recrawl=all")
        second = asked("crawl again.py", *FAST, *again, cwd=tmp_path)
        assert second["by_status"]["304"] > 30
        mend(spider, ".cost::text", ".price::text")
        hits = len(site.hits)
        replayed = asked("replay again --diff", cwd=tmp_path)
        assert len(site.hits) == hits, "nobody was asked"
    assert {each["key"] for each in replayed["changes"]} == changed
    assert {each["change"] for each in replayed["changes"]} == {"changed"}
    assert (replayed["missing"], replayed["failed"], replayed["lost"]) == (0, {}, 0)
    assert replayed["items"] == len(changed)
    assert replayed["left_out"] > 0
    said = gossamer("replay again", cwd=tmp_path).stderr
    assert f"left out  {replayed['left_out']} requests to pages that were not sent again" in said


ODD_SPIDER = """
from gossamer import Item, Request, Spider, key


class Page(Item):
    path: str = key()
    text: str


class Odd(Spider):
    name = "odd"
    start_urls = ["{url}/start"]
    allowed_domains = ["127.0.0.1"]
    login_url = "{url}/login"

    async def log_in(self, login):
        page = await login.get(self.login_url)
        await login.submit(page, {"user": "me", "password": "secret"})

    def parse(self, response):
        yield Page(path=response.url.rpartition("/")[2], text=response.css("p::text").get())
        yield from response.follow_all(css="a")
        if response.url.endswith("/start"):
            yield Request("{url}/form", method="POST", body=b"q=1", callback=self.parse, priority=4)
"""
LINKS = "".join(f'<a href="/{path}">x</a>' for path in ("moved", "busy", "broken", "gone", "private"))


TRIES = FrontierRules().max_throttled + 1
_asked_again = itertools.count(1)


def odd_site(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A site with everything that is not simply a page. Its last word to a crawl is to come back later."""
    is_last = path == "/busy" and next(_asked_again) % TRIES == 0
    answers = {
        "/robots.txt": SiteResponse(body=b"User-agent: *\nDisallow: /private"),
        "/start": SiteResponse(body=f"<p>start</p>{LINKS}".encode(), headers=(("Set-Cookie", "a=b"),)),
        "/moved": SiteResponse(301, headers=(("Location", "/target"),)),
        "/target": SiteResponse(body=b"<p>target</p>"),
        "/busy": SiteResponse(503, headers=(("Retry-After", "2" if is_last else "0"),)),
        "/broken": SiteResponse(500),
        "/form": SiteResponse(body=b"<p>answer</p>"),
        "/login": SiteResponse(body=b'<form method="post" action="/in"><input name="user">'
                               b'<input type="password" name="password"></form>'),
        "/in": SiteResponse(303, headers=(("Location", "/start"), ("Set-Cookie", "in=1; Path=/"))),
    }  # fmt: skip
    return answers.get(path, SiteResponse(404))


def test_what_is_not_simply_a_page_is_what_it_was_and_nothing_is_waited_for(tmp_path: Path) -> None:
    """A replay that honoured an archived 503 would wait for a host that nobody asks."""
    with serve_in_thread(odd_site) as site:
        spider = tmp_path / "odd.py"
        spider.write_text(ODD_SPIDER.replace("{url}", site.url))
        first = asked(
            f"crawl {spider} --archive -s max_retries=0 -s retry_backoff=0.01 -s retry_backoff_cap=0.01",
            *FAST,
            cwd=tmp_path,
        )
        assert first["items"] == 3
        hits = len(site.hits)
        mend(spider, 'css="a"', 'css="a, p"')
        mend(spider, '"secret"', '"of today"')
        mend(spider, "yield from", 'yield Request(response.urljoin("/new"))\n        yield from')
        mend(spider, 'css("p::text").get()', 'css("p::text").get().upper()')
        replayed = asked("replay odd --diff", cwd=tmp_path)
        assert len(site.hits) == hits
    assert (replayed["items"], replayed["changed"], replayed["unchanged"]) == (3, 3, 0)
    assert replayed["fields"] == {"Page.text": 3}
    changed = {each["key"]: each["fields"] for each in replayed["changes"]}
    assert changed["target"] == {"text": {"before": "target", "after": "TARGET"}}
    assert changed["form"] == {"text": {"before": "answer", "after": "ANSWER"}}
    assert replayed["missing"] == 1, "the page that only the spider of today asks for"
    assert replayed["refused"] == 1, "the page that robots.txt did not allow"
    assert set(replayed["failed"]) == {"throttled", "server", "gone"}
    told = gossamer("replay odd", cwd=tmp_path).stderr.splitlines()
    assert "gone     1 request to pages that the site did not have" in told
    (failed,) = [line for line in told if line.startswith("failed ")]
    assert "gone" not in failed, "the command in the next line lists dead letters"
    assert replayed["seconds"] < 5


def test_what_cannot_be_replayed_says_why_and_what_to_do(tmp_path: Path) -> None:
    with serve_in_thread(odd_site) as site:
        crawled = asked(f"crawl {site.url}/target", *FAST, cwd=tmp_path)
    name: Any = crawled["job"]
    gossamer(f"merge {name} --into both", cwd=tmp_path)
    done = gossamer("replay both", cwd=tmp_path, code=2)
    assert f"both-1 is a merge of {name}: replay that" in done.stderr
    done = gossamer(f"replay {name}", cwd=tmp_path, code=2)
    assert f"has no page of {name}: only jobs crawled with --archive can be replayed" in done.stderr
    assert not (tmp_path / ".gossamer" / "replays").exists()
    for line, said in [
        ("--promote 1", f"{name} has no version '1'; `gossamer replay {name}` makes one"),
        ("--promote 1 --discard 1", "choose one"),
        ("--promote 1 --diff", "they go with no other option"),
    ]:
        assert said in gossamer(f"replay {name} {line}", cwd=tmp_path, code=2).stderr


@pytest.mark.long
def test_a_cached_crawl_asks_for_each_page_once_and_the_mended_spider_for_none(tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url)) as site:
        spider = spider_file(tmp_path, site.url)
        first = asked(f"crawl {spider} --cache --max-pages 10", *FAST, cwd=tmp_path)
        second = asked(f"crawl {spider} --cache --fresh", *FAST, cwd=tmp_path)
        assert (first["pages"], second["pages"], second["items"]) == (10, PAGES, PRODUCTS)
        assert max(site.log.count_paths().values()) == 1, "what the first crawl had is not asked for again"
        hits = len(site.hits)
        mend(spider, 'css("h2::text").get()', 'css("h2::text").get().upper()')
        third = asked(f"crawl {spider} --cache --fresh --delay 3", cwd=tmp_path)
        assert third["seconds"] < 3 * PAGES / 2, "only the turn of the crawl before it is waited for"
        assert (third["items"], third["by_rung"]) == (PRODUCTS, {"archive": PAGES})
        assert len(site.hits) == hits
        names = [
            json.loads(line)["name"]
            for line in gossamer("export saved-shop", cwd=tmp_path).stdout.splitlines()
        ]
        assert all(name == name.upper() for name in names), "values of the same pages are replaced"


def test_a_spider_that_logs_in_is_not_cached(tmp_path: Path) -> None:
    """Its cookies are not kept: it would be given the pages of somebody who is logged in, and not be it."""
    (tmp_path / "odd.py").write_text(ODD_SPIDER.replace("{url}", "http://127.0.0.1:9"))
    done = gossamer("crawl odd.py --cache", cwd=tmp_path, code=2)
    assert "spider 'odd' logs in, and the cache keeps no cookies: crawl without --cache" in done.stderr


def test_a_crawl_that_asks_what_has_changed_is_not_cached(tmp_path: Path) -> None:
    """The cache would answer in the place of the site: nothing would ever have changed."""
    (tmp_path / "odd.py").write_text(
        ODD_SPIDER.replace("{url}", "http://127.0.0.1:9").replace("log_in", "no")
    )
    done = gossamer("crawl odd.py --cache --recrawl", cwd=tmp_path, code=2)
    assert "a re-crawl asks sites for changes, and the cache would answer in their place" in done.stderr


def test_an_archive_in_a_bucket_is_replayed(s3_url: str, tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url)) as site:
        spider = spider_file(tmp_path, site.url)
        asked(f"crawl {spider} -s archive.url={s3_url} --max-pages 3", *FAST, cwd=tmp_path)
        mend(spider, 'css("h2::text").get()', 'css("h2::text").get().upper()')
        hits = len(site.hits)
        replayed = asked("replay saved-shop", cwd=tmp_path)
        assert len(site.hits) == hits
    assert (replayed["pages"], replayed["fields"]) == (3, {"Product.name": replayed["items"]})
    assert replayed["items"] >= 3 * 15


TONGUES = """
from gossamer import Item, Request, Spider, key


class Tongue(Item):
    by: str = key()
    said: str


class Tongues(Spider):
    name = "tongues"

    async def start(self):
        for tongue in ("de", "fr", "en"):
            headers = {"Accept-Language": tongue}
            yield Request("URL/", headers=headers, dont_filter=True, cb_kwargs={"by": tongue})
        for who in ("ann", "bob"):
            cookies = {"who": who}
            yield Request("URL/", session=who, cookies=cookies, dont_filter=True, cb_kwargs={"by": who})

    def parse(self, response, by):
        yield Tongue(by=by, said=response.text)
"""


def test_requests_to_one_url_that_differ_get_their_own_answers(tmp_path: Path) -> None:
    """Bug it would catch: all get the latest one, and `--promote` puts it over the right ones."""

    def say(path: str, headers: Mapping[str, str]) -> SiteResponse:
        said = f"{headers.get('accept-language', '')} {headers.get('cookie', '')}"
        return SiteResponse(body=said.encode(), content_type="text/plain")

    with serve_in_thread(say) as site:
        (tmp_path / "tongues.py").write_text(TONGUES.replace("URL", site.url))
        assert asked("crawl tongues.py", *FAST, "--archive", cwd=tmp_path)["items"] == 5
        replayed = asked("replay tongues --diff", cwd=tmp_path)
    assert (replayed["unchanged"], replayed["changes"]) == (5, [])
