"""Data that becomes worse is told at the end of a crawl of a second: which field, and since which page."""

from __future__ import annotations

import json
import os

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.alert_services import serve_webhook
from kit.command_line import asked, gossamer

PAGES, CHANGED = 48, 25
SPIDER = """
from decimal import Decimal
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    name: str
    price: {price}


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/1"]
    settings = {{"delay": 0.0}}

    def parse(self, response):
        for box in response.css(".product"):
            yield Product(
                sku=box.css(".sku::text").get(),
                name=box.css("h1::text").get(),
                price=box.css(".amount::text").get(),
            )
        yield from response.follow_all(css="a.next")
"""


class Catalogue:
    """48 pages with a product each, one behind the other; from one page on a class has another name."""

    def __init__(self, renamed: str = "amount", since: int = CHANGED) -> None:
        self.renamed, self.since = renamed, since

    def __call__(self, path, headers):
        if path == "/robots.txt":
            return SiteResponse(404, b"")
        number = int(path.strip("/"))
        page = (
            f'<div class="product"><h1>Vase {number}</h1><i class="sku">V-{number}</i>'
            f'<b class="amount">{10 + number}.50</b></div>'
        )
        if number >= self.since:
            page = page.replace(f'class="{self.renamed}"', f'class="{self.renamed}-2"')
        after = f'<a class="next" href="/{number + 1}">next</a>' if number < PAGES else ""
        return SiteResponse(200, f"<html><body>{page}{after}</body></html>".encode())


def write_spider(folder, url: str, price: str = "Decimal | None = None") -> None:
    (folder / "shop.py").write_text(SPIDER.format(url=url, price=price))


@pytest.fixture
def told(tmp_path):
    """A webhook that is told, and the environment that names it."""
    (tmp_path / "gossamer.toml").write_text('[alerts.targets.ops]\nurl_env = "OPS_URL"\n')
    with serve_webhook() as service:
        yield service.received, {"OPS_URL": f"http://127.0.0.1:{service.port}/"}


def test_a_field_that_vanishes_half_way_is_told_with_its_page_and_time(tmp_path, told, s3_url):
    """The archive is a bucket, which has the page when its file is finished: that must be before the look."""
    received, env = told
    env = env | {"GOSSAMER_ARCHIVE__URL": s3_url, "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"]}
    with serve_in_thread(Catalogue()) as site:
        write_spider(tmp_path, site.url)
        done = gossamer("crawl shop.py", cwd=tmp_path, env=env)
        (notice,) = received
        page = f"{site.url}/{CHANGED}"
    assert (notice["change"], notice["alert"], notice["severity"]) == ("begun", "drift", "needs_you")
    for text in (notice["text"], done.stderr):
        assert "100% of the last 24 items of shop-1 have no Product.price; before, 100% had it" in text
        assert f"with {page}" in text
    report = asked("report quality shop", cwd=tmp_path)
    (finding,) = report["findings"]
    assert (finding["kind"], finding["field"], finding["url"]) == ("fill", "Product.price", page)
    assert finding["since"].startswith("20")
    assert finding["place"].startswith("shop-1-")
    assert f"(archived: {finding['place']})" in notice["text"]
    (alert,) = asked("alerts", cwd=tmp_path, env=env)["alerts"]
    assert (alert["kind"], alert["job"], page in alert["text"]) == ("drift", "shop-1", True)
    ways = [way for way in alert["ways"] if "accept" not in way["command"]]
    for way in ways:  # each can be carried out, and the last one acknowledges the alert
        gossamer(way["command"].removeprefix("gossamer "), cwd=tmp_path, env=env)
    known = asked("alerts", cwd=tmp_path, env=env)
    assert (known["alerts"], known["acknowledged"][0]["text"]) == ([], alert["text"])
    assert asked("status shop", cwd=tmp_path)["alerts"] == []


def test_a_crawl_without_a_single_item_says_why_wherever_it_is_asked(tmp_path):
    """Bug it would catch: exit code 1, and "finished: nothing is left to do"."""
    with serve_in_thread(Catalogue(since=1)) as site:
        write_spider(tmp_path, site.url, price="Decimal")
        gossamer("crawl shop.py -q --max-pages 3", cwd=tmp_path, code=1)
        why = "every item was dropped (3 items): 3 Product.price"
        assert why in gossamer("crawl shop.py --max-pages 3", cwd=tmp_path, code=1).stderr
        why = f"every item was dropped ({PAGES} items): {PAGES} Product.price"
        gossamer("crawl shop.py", cwd=tmp_path, code=1)
        assert why in gossamer("crawl shop.py", cwd=tmp_path, code=1).stderr
        assert why in gossamer("wait shop", cwd=tmp_path, code=1).stderr
        assert why in asked("status shop", cwd=tmp_path)["say"][1].replace("Every", "every")


def test_items_that_are_dropped_for_a_field_are_told_too(tmp_path, told):
    """The field is required: the items that are left are perfect, and nothing in them says what is wrong."""
    received, env = told
    with serve_in_thread(Catalogue()) as site:
        write_spider(tmp_path, site.url, price="Decimal")
        done = gossamer("crawl shop.py -q --json", cwd=tmp_path, env=env)
        (notice,) = received
        assert "Product.price" in notice["text"]
        notes = [note for note in json.loads(done.stdout)["notes"] if note["kind"] == "quality"]
        assert notes[0]["text"] + "." == notice["text"]
        for note in notes:  # a quiet crawl warns all the same
            assert note["is_warning"]
            assert note["text"] in done.stderr
        waited = gossamer("wait shop -q --json", cwd=tmp_path, env=env)
        assert json.loads(waited.stdout)["notes"] == notes
        assert notes[0]["text"] in waited.stderr, "whoever waits for the end reads the same"
        assert f"with {site.url}/{CHANGED}" in notice["text"]
    report = asked("report quality shop", cwd=tmp_path)
    (finding,) = report["findings"]
    assert (finding["kind"], finding["now"]) == ("type_errors", 0.0)
    (drop,) = report["drops"]
    assert (drop["items"], drop["sample"]["url"]) == (PAGES - CHANGED + 1, f"{site.url}/{CHANGED}")
    assert drop["sample"]["data"] == {"sku": "V-25", "name": "Vase 25", "price": None}
    assert "because of  " in (shown := gossamer("report quality shop", cwd=tmp_path).stdout)
    assert f"{site.url}/{CHANGED}" in shown
    explained = asked(f"explain {site.url}/{CHANGED}", cwd=tmp_path)
    assert [one["reason"] for one in explained["dropped_items"]] == [drop["reason"]]
    assert f"An item of it was dropped: {drop['reason']}" in " ".join(explained["lines"])
    assert not asked(f"explain {site.url}/{CHANGED - 1}", cwd=tmp_path)["dropped_items"]


@pytest.mark.parametrize("since", [CHANGED, 1])
def test_pages_that_give_nothing_any_more_are_told(tmp_path, told, since):
    """Half-way within the first crawl; or all of the pages, where an earlier crawl says what is usual."""
    received, env = told
    site_now = Catalogue("product", PAGES + 1 if since == 1 else since)
    with serve_in_thread(site_now) as site:
        write_spider(tmp_path, site.url)
        gossamer("crawl shop.py -q", cwd=tmp_path, env=env)
        if since == 1:
            assert not received
            site_now.since = 1
            gossamer("crawl shop.py -q --fresh", cwd=tmp_path, env=env)
        (notice,) = received
        assert notice["alert"] == "no_items"
        assert f"with {site.url}/{since}" in notice["text"]


def test_a_known_loss_is_told_in_each_job_until_it_is_accepted(tmp_path, told):
    """The first crawl says what is usual; the price is gone in all others."""
    received, env = told
    site_now = Catalogue(since=PAGES + 1)
    with serve_in_thread(site_now) as site:
        write_spider(tmp_path, site.url)
        gossamer("crawl shop.py -q", cwd=tmp_path, env=env)
        site_now.since = 1
        done = [gossamer("crawl shop.py -q --fresh", cwd=tmp_path, env=env) for _ in range(3)]
        assert [notice["job"] for notice in received] == ["shop-2", "shop-3", "shop-4"]
        assert all("in 1 earlier job, 100% had it" in one.stderr for one in done)
        assert "`gossamer accept shop-4`" in done[-1].stderr
        assert asked("alerts", cwd=tmp_path, env=env)["alerts"]
        accepted = asked("accept shop", cwd=tmp_path, env=env)
        assert (accepted["job"], len(accepted["findings"])) == ("shop-4", 1)
        assert asked("alerts", cwd=tmp_path, env=env)["alerts"] == []
        gossamer("crawl shop.py -q --fresh", cwd=tmp_path, env=env)
    assert [notice["change"] for notice in received] == ["begun"] * 3 + ["ended"]
    assert received[-1]["id"].replace(":ended", ":begun") == received[-2]["id"]
    assert received[-1]["headline"].endswith("(a person has accepted it)")
    report = asked("report quality shop-5", cwd=tmp_path)
    assert (report["findings"], report["jobs"]) == ([], ["shop-4"])


def test_digits_are_a_text_where_the_spider_declares_a_text(tmp_path):
    """``sku`` is a ``str``; it is of digits in the first half of the shop, and ``price`` is a ``Decimal``."""

    def shop_of_codes(path, headers):
        answer = Catalogue(since=PAGES + 1)(path, headers)
        number = path.strip("/")
        is_digits = number.isdigit() and int(number) < CHANGED
        return SiteResponse(answer.status, answer.body.replace(b"V-", b"70" if is_digits else b"V-"))

    with serve_in_thread(shop_of_codes) as site:
        write_spider(tmp_path, site.url)
        gossamer("crawl shop.py -q", cwd=tmp_path)
    report = asked("report quality shop", cwd=tmp_path)
    kinds = {field["field"]: (field["kind"], field["wrong"]) for field in report["fields"]}
    assert kinds == {"sku": ("text", 0), "name": ("text", 0), "price": ("decimal", 0)}
    assert (report["findings"], report["score"]) == ([], 1.0)


def test_a_crawl_that_is_well_says_nothing(tmp_path, told):
    received, env = told
    with serve_in_thread(Catalogue(since=PAGES + 1)) as site:
        write_spider(tmp_path, site.url)
        done = [gossamer("crawl shop.py --fresh --json", cwd=tmp_path, env=env) for _ in range(2)]
    assert not received
    assert all("report quality" not in one.stderr for one in done)
    assert all(json.loads(one.stdout)["notes"] == [] for one in done)
    report = asked("report quality shop-2", cwd=tmp_path)
    assert (report["score"], report["findings"], report["jobs"]) == (1.0, [], ["shop-1"])
    assert json.loads(done[1].stdout)["items"] == PAGES
