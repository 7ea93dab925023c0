"""A crawl comes back: what has not changed is not sent again, what has is stored, and nothing is lost."""

import json
from collections import Counter
from functools import partial

import pytest

from gossamer import Item, Request, SitemapSpider, Spider, crawl, key
from gossamer.config.layers import load_settings
from gossamer.core.freshness import UNCHANGED
from gossamer.core.jobs import ItemFilter
from gossamer.core.results import AttemptFilter
from gossamer.policy.freshness import known_fingerprint_of
from gossamer.testing.answers import SiteResponse
from gossamer.testing.shop import Shop, answer_condition
from gossamer.testing.site import serve, serve_in_thread
from gossamer.wiring.backends import open_backends
from kit.command_line import FAST, asked, gossamer
from kit.fleet.steps import until
from kit.programs import run, start


class Product(Item):
    sku: str = key()
    price: str


class ShopSpider(Spider):
    name = "shop"
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback="parse_product")
        yield from response.follow_all(css="a.next, nav a")

    def parse_product(self, response):
        yield Product(sku=response.css(".sku::text").get(), price=response.css(".price::text").get())


class ListSpider(Spider):
    """A page with links, each of which is a page with an item."""

    name = "list"
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield {"url": response.url, "text": response.css("h1::text").get()}
        yield from response.follow_all(css="a")


QUICK = {"delay": 0.0, "per_host": 8}
KEEPS = {"freshness.on": True}


class Crawls:
    """Crawls of one data directory."""

    def __init__(self, folder, site):
        self.site = site
        self.settings = {**QUICK, "data": str(folder)}

    async def run(self, spider=ShopSpider, path="/catalog", **more):
        kind = type(spider.__name__, (spider,), {"start_urls": [f"{self.site.url}{path}"]})
        self.site.hits.clear()
        return await crawl(kind, **self.settings, **{"fresh": True, **more})

    async def ask(self, question):
        settings = load_settings(env={}, spider=self.settings).settings
        backends = await open_backends(settings)
        try:
            return await question(backends)
        finally:
            await backends.close()

    async def items(self, job):
        async def read(backends):
            found = await backends.book.get(job)
            return {
                item.data.get("sku") or item.url.removeprefix(self.site.url): item
                async for item in backends.store.read_items(found, which=ItemFilter())
            }

        return await self.ask(read)

    async def attempts(self, job, **which):
        async def read(backends):
            found = await backends.book.get(job)
            return await backends.ledger.find_attempts(found, 10_000, AttemptFilter(**which))

        return await self.ask(read)

    async def page(self, path, spider="list"):
        async def read(backends):
            fingerprint = known_fingerprint_of(Request(f"{self.site.url}{path}"))
            return (await backends.known_pages.find_pages(spider, [fingerprint])).get(fingerprint)

        return await self.ask(read)

    def statuses(self):
        """What the site answered, without robots.txt."""
        return Counter(hit.status for hit in self.site.hits if hit.path != "/robots.txt")


@pytest.fixture
def open_crawls(tmp_path):
    return lambda site: Crawls(tmp_path / "data", site)


async def test_a_shop_of_which_one_percent_changes_sends_what_has_changed(open_crawls):
    shop = Shop(300, per_page=30, page_bytes=2_000, validators=True)
    async with serve(shop) as site:
        crawls = open_crawls(site)
        first = await crawls.run(**KEEPS)
        assert (first.items, first.by_status) == (300, {"200": first.pages})
        changed = shop.change_products(0.01)
        second = await crawls.run(fresh=False, **{"freshness.recrawl": "all"})
        assert second.job != first.job
        assert second.finish_reason == "finished"
        lists = {number // 30 for number in changed}  # they show the prices
        sent = len(changed) + len(lists)
        assert crawls.statuses() == {200: sent, 304: first.pages - sent}
        assert second.by_status == {"200": sent, "304": first.pages - sent}
        assert second.pages == sent
        items = await crawls.items(second.job)
        assert set(items) == {shop.sku(number) for number in changed}
        assert {sku: item.data["price"] for sku, item in items.items()} == {
            shop.sku(number): shop.product(number)["price"] for number in changed
        }
        rows = await crawls.attempts(second.job, flag=UNCHANGED)
        assert {row.status for row in rows} == {304}
        assert {row.verdict for row in rows} == {"success"}
        assert len(rows) == first.pages - sent


async def test_a_crawl_that_comes_back_visits_what_is_due_and_counts_what_is_not(open_crawls):
    shop = Shop(40, per_page=20, page_bytes=2_000, validators=True)
    async with serve(shop) as site:
        crawls = open_crawls(site)
        await crawls.run(**KEEPS)
        shop.change_products(1.0)
        second = await crawls.run(fresh=False, **{"freshness.recrawl": "due"})
        # Only the start page is asked for: its links lead to pages that were checked a moment ago.
        assert [hit.path for hit in site.hits if hit.path != "/robots.txt"] == ["/catalog"]
        assert second.left_out["link:not_due"] > 20
        assert second.items == 0
        assert second.notes == ()  # that there are few items is no news


async def test_servers_without_validators_are_told_by_their_bytes(open_crawls):
    pages = {"/": "<h1>start</h1><a href=/a>a</a><a href=/b>b</a>", "/a": "<h1>a</h1>", "/b": "<h1>b</h1>"}
    async with serve(lambda path, _: answer_of(pages, path)) as site:
        crawls = open_crawls(site)
        await crawls.run(ListSpider, "/", **KEEPS)
        pages["/b"] = "<h1>other</h1>"
        second = await crawls.run(ListSpider, "/", **{"freshness.recrawl": "all"})
        assert second.by_status == {"200": 3}
        assert second.items == 3  # their callbacks ran
        rows = {row.url.removeprefix(site.url): row for row in await crawls.attempts(second.job)}
        assert {path: UNCHANGED in row.flags for path, row in rows.items()} == {
            "/": True,
            "/a": True,
            "/b": False,
        }
        page = await crawls.page("/b")
        assert (page.checks, page.changes, page.has_changed) == (2, 1, True)


def answer_of(pages, path):
    text = pages.get(path)
    return SiteResponse(404, b"gone") if text is None else SiteResponse(200, text.encode())


async def test_a_page_that_is_gone_is_marked_and_one_that_comes_back_is_not(open_crawls):
    pages = {"/": "<h1>start</h1><a href=/a>a</a>", "/a": "<h1>a</h1>"}
    async with serve(lambda path, _: answer_of(pages, path)) as site:
        crawls = open_crawls(site)
        await crawls.run(ListSpider, "/", **KEEPS)
        assert (await crawls.page("/a")).gone_at is None
        text = pages.pop("/a")
        await crawls.run(ListSpider, "/", **{"freshness.recrawl": "all"})
        gone = await crawls.page("/a")
        assert gone.gone_at == gone.checked_at
        again = await crawls.run(ListSpider, "/", **{"freshness.recrawl": "all"})
        assert (await crawls.page("/a")).gone_at == gone.gone_at
        assert (await crawls.page("/a")).interval_s == 2 * gone.interval_s
        pages["/a"] = text
        again = await crawls.run(ListSpider, "/", **{"freshness.recrawl": "all"})
        back = await crawls.page("/a")
        assert back.gone_at is None
        assert back.has_changed
        assert set(await crawls.items(again.job)) == {"/", "/a"}


async def test_pages_that_a_crawl_did_not_get_to_are_visited_by_the_next_one(open_crawls):
    """Also where the pages that lead to them have not changed, and are not read again."""
    links = "".join(f"<a href=/{number}>x</a>" for number in range(20))
    pages = {"/": f"<h1>start</h1>{links}", **{f"/{number}": f"<h1>{number}</h1>" for number in range(20)}}
    async with serve(lambda path, headers: answer_condition(answer_of(pages, path), headers)) as site:
        crawls = open_crawls(site)
        first = await crawls.run(ListSpider, "/", max_pages=5, **KEEPS)
        seen = await crawls.items(first.job)
        assert len(seen) < 15
        second = await crawls.run(ListSpider, "/", fresh=True, **{"freshness.recrawl": "due"})
        assert crawls.statuses()[304] == 1  # the start page, which has the links
        assert {*seen, *await crawls.items(second.job)} == set(pages)


async def test_a_crawl_without_freshness_keeps_and_asks_nothing(open_crawls):
    shop = Shop(10, page_bytes=2_000, validators=True)
    async with serve(shop) as site:
        crawls = open_crawls(site)
        await crawls.run()
        await crawls.run()
        assert crawls.statuses() == {200: 12}
        assert await crawls.page("/catalog", "shop") is None


async def test_an_answer_that_nobody_asked_for_is_a_fault(open_crawls):
    async with serve(lambda path, _: SiteResponse(404 if "robots" in path else 304)) as site:
        crawls = open_crawls(site)
        result = await crawls.run(ListSpider, "/", max_retries=1, retry_backoff=0.01, **KEEPS)
        assert result.dead == 1
        (row, *_) = await crawls.attempts(result.job, verdict="dead")
        assert row.reason == "protocol"
        assert "unconditional request" in row.detail


async def test_a_redirect_is_known_too_and_followed_when_it_leads_elsewhere(open_crawls):
    target = {"to": "/a"}
    pages = {"/": "<h1>start</h1><a href=/moved>x</a>", "/a": "<h1>a</h1>", "/b": "<h1>b</h1>"}

    def app(path, _headers):
        if path == "/moved":
            return SiteResponse(301, headers=(("Location", target["to"]),))
        return answer_of(pages, path)

    async with serve(app) as site:
        crawls = open_crawls(site)
        await crawls.run(ListSpider, "/", **KEEPS)
        target["to"] = "/b"
        second = await crawls.run(ListSpider, "/", **{"freshness.recrawl": "all"})
        assert set(await crawls.items(second.job)) == {"/", "/a", "/b"}
        assert (await crawls.page("/moved")).has_changed


async def test_a_request_with_a_secret_is_not_kept(open_crawls):
    class Members(ListSpider):
        name = "members"

        def parse(self, response):
            yield response.follow(
                "/secret", headers={"Authorization": "Bearer abcdefgh"}, callback="parse_it"
            )
            yield response.follow("/open", callback="parse_it")

        def parse_it(self, response):
            yield {"url": response.url}

    pages = {"/": "<h1>start</h1>", "/secret": "<h1>s</h1>", "/open": "<h1>o</h1>"}
    async with serve(lambda path, _: answer_of(pages, path)) as site:
        crawls = open_crawls(site)
        await crawls.run(Members, "/", **KEEPS)
        assert await crawls.page("/open", "members") is not None
        assert await crawls.page("/secret", "members") is None


def answer_priced(prices, path, headers):
    """A list of products with their prices, and their pages without them."""
    lines = "<li><a href=/{0}>x</a><b>{1}</b></li>"
    pages = {"/": "".join(lines.format(*pair) for pair in prices.items()), "/a": "a", "/b": "b"}
    return answer_condition(answer_of(pages, path), headers)


class PricedSpider(Spider):
    """Of a product, its list says the price."""

    name = "priced"
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        for line in response.css("li"):
            price = line.css("b::text").get()
            yield response.follow(line.css("a")[0], callback="parse_product", cb_kwargs={"price": price})

    def parse_product(self, response, price):
        yield Product(sku=response.url[-1], price=price)


@pytest.mark.parametrize("recrawl", ["due", "all"])
async def test_what_a_link_brings_is_taken_although_its_page_has_not_changed(open_crawls, recrawl):
    """Its callback makes something else of the same page: neither left out nor taken for unchanged."""
    prices = {"a": 1, "b": 2}
    async with serve(partial(answer_priced, prices)) as site:
        crawls = open_crawls(site)
        await crawls.run(PricedSpider, "/", **KEEPS)
        prices["b"] = 3
        second = await crawls.run(PricedSpider, "/", **{"freshness.recrawl": "due"})
        items = await crawls.items(second.job)
        assert {sku: item.data["price"] for sku, item in items.items()} == {"b": "3"}
        assert crawls.statuses() == {200: 2}
        third = await crawls.run(PricedSpider, "/", **{"freshness.recrawl": recrawl})
        assert third.items == 0, "it was noted what the link brings now"


async def test_what_a_link_brings_is_taken_also_where_its_page_is_due_itself(open_crawls):
    """It was asked for as before, and was as it was, and the list was not read again: the price was lost."""
    prices = {"a": 1, "b": 2}
    async with serve(partial(answer_priced, prices)) as site:
        crawls = open_crawls(site)
        await crawls.run(PricedSpider, "/", **KEEPS)
        prices["b"] = 3
        second = await crawls.run(PricedSpider, "/", **{"freshness.recrawl": "all"})
        items = await crawls.items(second.job)
        assert {sku: item.data["price"] for sku, item in items.items()} == {"b": "3"}
        assert crawls.statuses()[304] >= 1
        third = await crawls.run(PricedSpider, "/", **{"freshness.recrawl": "all"})
        assert (third.items, crawls.statuses()) == (0, {304: 3})


class OddSpider(PricedSpider):
    name = "odd"
    is_broken = False

    def parse_product(self, response, price):
        if self.is_broken:
            raise ValueError("this one is odd")
        yield from super().parse_product(response, price)


async def test_what_a_link_brings_is_taken_the_next_time_where_its_callback_failed(open_crawls):
    """The page that has the link is not read again; what is due next is the page that it leads to."""
    prices = {"a": 1, "b": 2}

    class Broken(OddSpider):
        is_broken = True

    async with serve(partial(answer_priced, prices)) as site:
        crawls = open_crawls(site)
        await crawls.run(OddSpider, "/", **KEEPS)
        prices["b"] = 3
        assert (await crawls.run(Broken, "/", **{"freshness.recrawl": "due"})).dead == 1
        third = await crawls.run(OddSpider, "/", **{"freshness.recrawl": "due"})
        items = await crawls.items(third.job)
        assert {sku: item.data["price"] for sku, item in items.items()} == {"b": "3"}
        assert crawls.statuses() == {304: 1, 200: 1}
        assert (await crawls.run(OddSpider, "/", **{"freshness.recrawl": "due"})).attempts == 1


async def test_a_link_that_was_left_out_once_is_followed_where_it_brings_something_new(open_crawls):
    """A bug it would catch: what was left out is taken for something that the crawl has already."""
    said = {"/": "1", "/list": "1"}

    class Listing(PricedSpider):
        name = "listing"

        def parse(self, response):
            yield from super().parse(response)
            yield from response.follow_all(css="a.list", dont_filter=True)

    def app(path, headers):
        more = {"/": f"<a class=list href=/list>l</a>{said['/list']}", "/list": ""}.get(path)
        if more is not None:
            more += f"<li><a href=/b>x</a><b>{said[path]}</b></li>"
        return answer_condition(SiteResponse(body=(more or "b").encode()), headers)

    async with serve(app) as site:
        crawls = open_crawls(site)
        await crawls.run(Listing, "/", **KEEPS)
        said["/list"] = "2"
        second = await crawls.run(Listing, "/", **{"freshness.recrawl": "due"})
        assert second.left_out["link:not_due"] == 1
        items = await crawls.items(second.job)
        assert {sku: item.data["price"] for sku, item in items.items()} == {"b": "2"}


async def test_a_page_whose_status_the_spider_wants_is_gone_all_the_same(open_crawls):
    class Noting(ListSpider):
        name = "noting"
        handle_httpstatus_list = (404,)

        def parse(self, response):
            yield {"url": response.url, "status": response.status}
            yield from response.follow_all(css="a")

    pages = {"/": "<a href=/a>a</a>", "/a": "a"}
    async with serve(lambda path, _: answer_of(pages, path)) as site:
        crawls = open_crawls(site)
        await crawls.run(Noting, "/", **KEEPS)
        del pages["/a"]
        second = await crawls.run(Noting, "/", **{"freshness.recrawl": "all"})
        gone = await crawls.page("/a", "noting")
        assert gone.gone_at == gone.checked_at
        assert (await crawls.items(second.job))["/a"].data["status"] == 404


async def test_pages_whose_callback_is_no_more_are_left_out_and_told(open_crawls, caplog):
    class New(ShopSpider):
        """Its author has renamed a callback."""

        parse_product = None

        def parse(self, response):
            yield from response.follow_all(css="a.product", callback="parse_thing")

        def parse_thing(self, response):
            yield from ShopSpider.parse_product(self, response)

    async with serve(Shop(8, page_bytes=2_000, related=0, validators=True)) as site:
        crawls = open_crawls(site)
        await crawls.run(**KEEPS)
        second = await crawls.run(New, **{"freshness.recrawl": "all"})
        assert second.dead == 0
        assert "8 known pages are not visited again: the spider has no callback parse_product" in caplog.text
        anew = await crawls.run(New, **KEEPS)
        assert anew.items == 8
        again = await crawls.run(New, **{"freshness.recrawl": "all"})
        assert (again.dead, set(again.by_status)) == (0, {"304"})


class MapSpider(SitemapSpider):
    """The pages that a sitemap lists."""

    name = "map"
    allowed_domains = ["127.0.0.1"]
    start_urls = ()

    def parse(self, response):
        yield {"url": response.url, "price": response.css(".price::text").get()}


async def test_a_sitemap_is_asked_again_and_leads_to_what_it_says_is_new(open_crawls):
    shop = Shop(60, page_bytes=2_000, validators=True)
    async with serve(shop) as site:
        crawls = open_crawls(site)

        async def run(**more):
            kind = type("MapSpider", (MapSpider,), {"sitemap_urls": [f"{site.url}/sitemap.xml"]})
            site.hits.clear()
            return await crawl(kind, **crawls.settings, **{"fresh": True, **more})

        first = await run(**KEEPS)
        assert first.items == 60
        nothing = await run(**{"freshness.recrawl": "due"})
        assert crawls.statuses() == {304: 1}  # the sitemap itself
        assert nothing.finish_reason == "finished"
        changed = shop.change_products(0.05)
        second = await run(**{"freshness.recrawl": "due"})
        asked_for = {hit.path for hit in site.hits if hit.path != "/robots.txt"}
        assert asked_for == {"/sitemap.xml", *map(shop.product_path, changed)}
        assert second.left_out["link:not_due"] == 57
        assert second.items == 3


async def test_a_listed_sitemap_is_asked_again_although_its_index_has_not_changed(open_crawls):
    entries = ["/a"]

    def app(path, headers):
        base = f"http://{headers['host']}"
        if path == "/index.xml":
            body = f"<sitemapindex><sitemap><loc>{base}/part.xml</loc></sitemap></sitemapindex>"
        elif path == "/part.xml":
            body = (
                "<urlset>"
                + "".join(f"<url><loc>{base}{entry}</loc></url>" for entry in entries)
                + "</urlset>"
            )
        elif path in ("/a", "/b"):
            body = f"<h1>{path}</h1>"
        else:
            return SiteResponse(404)
        return answer_condition(SiteResponse(200, body.encode()), headers)

    async with serve(app) as site:
        crawls = open_crawls(site)
        kind = type("MapSpider", (MapSpider,), {"sitemap_urls": [f"{site.url}/index.xml"]})
        await crawl(kind, **crawls.settings, fresh=True, **KEEPS)
        entries.append("/b")
        second = await crawl(kind, **crawls.settings, fresh=True, **{"freshness.recrawl": "due"})
        assert set(await crawls.items(second.job)) == {"/b"}
        assert second.left_out["link:not_due"] == 1


SPIDER = """
from gossamer import Item, Spider, key

class Page(Item):
    url: str = key()

class Pages(Spider):
    name = "pages"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield Page(url=response.url)
        yield from response.follow_all(css="a")
"""


def test_the_commands_say_what_is_known(tmp_path):
    pages = {"/": "<h1>start</h1><a href=/a>a</a><a href=/b>b</a>", "/a": "<h1>a</h1>", "/b": "<h1>b</h1>"}
    with serve_in_thread(lambda path, _: answer_of(pages, path)) as site:
        spider = tmp_path / "pages.py"
        spider.write_text(SPIDER.replace("{url}", site.url))
        gossamer("crawl", spider, *FAST, "-q", cwd=tmp_path)
        refused = gossamer("report freshness pages", cwd=tmp_path, code=2)
        assert "freshness.on=true" in refused.stderr
        gossamer("crawl", spider, *FAST, "--fresh", "-q", "-s", "freshness.on=true", cwd=tmp_path)
        del pages["/b"]
        gossamer("crawl", spider, *FAST, "-q", "-s", "freshness.recrawl=all", cwd=tmp_path)
        found = asked("report freshness pages", cwd=tmp_path)
        counts = {name: found[name] for name in ("known", "due", "waiting", "new", "unchanged", "gone")}
        assert counts == {"known": 3, "due": 0, "waiting": 0, "new": 0, "unchanged": 2, "gone": 1}
        assert found["median_interval_s"] > 3600
        told = gossamer("report freshness", cwd=tmp_path).stdout
        assert "2 pages at the latest check" in told
        gone = gossamer("export pages-2 --gone", cwd=tmp_path).stdout
        assert json.loads(gone) == {"url": f"{site.url}/b"}
        pages["/"] += "<p>more</p>"
        gossamer("crawl", spider, *FAST, "-q", "--recrawl", cwd=tmp_path)
        why = asked("explain --job pages", f"{site.url}/a", cwd=tmp_path)
        assert why["answer"] == "not_due"
        assert why["checked_at"] < why["next_check_at"]
        assert "pages-4" in why["lines"][0]
        assert "It is due in" in " ".join(why["lines"])
        assert asked("explain", f"{site.url}/b", cwd=tmp_path)["gone_at"] is not None


SHOP = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    price: str


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback="parse_product")
        yield from response.follow_all(css="a.next")

    def parse_product(self, response):
        yield Product(sku=response.css(".sku::text").get(), price=response.css(".price::text").get())
"""


def test_a_page_to_which_only_unchanged_pages_lead_is_told_as_not_due(tmp_path):
    """A bug it would catch: it was `never seen`, since the listing with its link was not sent again."""
    with serve_in_thread(Shop(3, page_bytes=2_000, validators=True)) as site:
        spider = tmp_path / "shop.py"
        spider.write_text(SHOP.replace("{url}", site.url))
        gossamer("crawl", spider, *FAST, "-q", "-s", "freshness.on=true", cwd=tmp_path)
        gossamer("crawl", spider, *FAST, "-q", "--recrawl", cwd=tmp_path)
        why = asked("explain --job shop-2", f"{site.url}/product/G0-000001.html", cwd=tmp_path)
        assert (why["answer"], "shop-2" in why["lines"][0]) == ("not_due", True)
        unknown = asked("explain --job shop-2", f"{site.url}/product/G0-000009.html", cwd=tmp_path)
        assert unknown["answer"] == "never_seen"


@pytest.mark.long
@pytest.mark.parametrize(
    "layout",
    [("-s", "store.url=sqlite:///items.db"), pytest.param((), marks=pytest.mark.thorough)],
    ids=["two files", "one file"],
)
def test_a_crawl_that_comes_back_is_killed_and_continued_and_no_change_is_lost(tmp_path, layout):
    shop = Shop(200, per_page=20, page_bytes=2_000, related=0, validators=True)
    with serve_in_thread(shop) as site:
        (tmp_path / "shop.py").write_text(SHOP.replace("{url}", site.url))
        gossamer("crawl shop.py -q", *FAST, *layout, "-s", "freshness.on=true", cwd=tmp_path)
        changed = shop.change_products(0.2)
        again = ("crawl", "shop.py", "-q", "--delay", "0.02", *layout, "-s", "freshness.recrawl=all")
        for visited in (40, 90):
            site.hits.clear()
            crawling = start(*again, cwd=tmp_path)
            until(lambda visited=visited: len(site.hits) >= visited, 60, "pages to be asked for")
            crawling.kill()
            crawling.wait()
        result = json.loads(run(*again, "--json", cwd=tmp_path).stdout)
        assert (result["job"], result["finish_reason"], result["dead"]) == ("shop-2", "finished", 0)
        exported = gossamer("export shop-2", *layout, cwd=tmp_path).stdout.splitlines()
    prices = {item["sku"]: item["price"] for item in map(json.loads, exported)}
    expected = {shop.sku(number): shop.product(number)["price"] for number in changed}
    assert {sku: prices.get(sku) for sku in expected} == expected
    if not layout:
        assert prices == expected, "one file has a page and its lease, or neither"
