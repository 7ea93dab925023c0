"""Crawls that take their pages from sitemaps and feeds come back: to what is new or changed, and no more."""

from __future__ import annotations

import json
import time
from collections import Counter
from email.utils import formatdate

import pytest

from gossamer import SitemapSpider, crawl
from gossamer.testing.answers import SiteResponse
from gossamer.testing.shop import answer_condition
from gossamer.testing.site import serve, serve_in_thread
from kit.command_line import asked
from kit.programs import run

KEEPS = {"freshness.on": True}
COMES_BACK = {"freshness.recrawl": "due"}


class ListedSite:
    """An index of sitemaps, the pages that they list, and when those have changed; all with ETags."""

    def __init__(self, sitemaps, pages):
        self.sitemaps, self.pages = sitemaps, pages
        self.changed = {}  # by the number of a page
        self.added = Counter()  # pages by the number of their sitemap

    def change(self, number):
        self.changed[number] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def __call__(self, path, headers):
        return answer_condition(self._answer(path, f"http://{headers['host']}"), headers)

    def _answer(self, path, base):
        kind, _, number = path.strip("/").partition("/")
        if path == "/index.xml":
            maps = "".join(f"<sitemap><loc>{base}/map/{n}</loc></sitemap>" for n in range(self.sitemaps))
            return SiteResponse(body=f"<sitemapindex>{maps}</sitemapindex>".encode())
        if kind == "map":
            return SiteResponse(body=f"<urlset>{''.join(self._entries(int(number), base))}</urlset>".encode())
        if kind in ("page", "new"):
            return SiteResponse(body=f"<h1>{number} {self.changed.get(number)}</h1>".encode())
        return SiteResponse(404)

    def _entries(self, sitemap, base):
        for number in range(sitemap * self.pages, (sitemap + 1) * self.pages):
            day = self.changed.get(str(number), "2024-05-06")
            yield f"<url><loc>{base}/page/{number}</loc><lastmod>{day}</lastmod></url>"
        for number in range(self.added[sitemap]):
            yield f"<url><loc>{base}/new/{sitemap}-{number}</loc></url>"


class Watching(SitemapSpider):
    name = "watching"

    def parse(self, response):
        yield {"url": response.url, "text": response.css("h1::text").get()}


async def visit(site, folder, start, **more):
    """A crawl of a site's sitemap or feed; what was asked for, by its answer."""
    kind = type("Watching", (Watching,), {"sitemap_urls": [f"{site.url}{start}"]})
    site.hits.clear()
    quick = {"delay": 0.0, "per_host": 8, "data": str(folder / "data")}
    result = await crawl(kind, fresh=True, **quick, **more)
    answers = {200: set(), 304: set()}
    for hit in site.hits:
        if hit.path != "/robots.txt":
            answers.setdefault(hit.status, set()).add(hit.path)
    assert len(site.hits) <= 1 + sum(map(len, answers.values())), "nothing is asked for twice"
    return result, answers


async def test_of_a_large_index_what_is_new_and_what_has_changed_is_visited(tmp_path):
    listed = ListedSite(10, 100)
    maps = {f"/map/{number}" for number in range(10)}
    async with serve(listed) as site:
        first, _ = await visit(site, tmp_path, "/index.xml", **KEEPS)
        assert (first.items, first.attempts) == (1000, 1011)

        nothing, answers = await visit(site, tmp_path, "/index.xml", **COMES_BACK)
        assert answers == {200: set(), 304: {"/index.xml", *maps}}
        assert (nothing.finish_reason, nothing.items) == ("finished", 0)

        changed = [7, 42, 99, 733]
        for number in changed:
            listed.change(str(number))
        listed.added[3] = 5
        second, answers = await visit(site, tmp_path, "/index.xml", **COMES_BACK)
        read = {"/map/0", "/map/3", "/map/7"}
        new = {f"/new/3-{number}" for number in range(5)}
        assert answers[200] == {*read, *new, *(f"/page/{number}" for number in changed)}
        assert answers[304] == {"/index.xml", *(maps - read)}
        assert second.items == 9
        assert second.left_out["link:not_due"] == 300 - len(changed)

        _, answers = await visit(site, tmp_path, "/index.xml", **COMES_BACK)
        assert answers == {200: set(), 304: {"/index.xml", *maps}}


async def test_an_entry_that_has_changed_is_visited_until_it_was_read(tmp_path):
    """A bug it would catch: its page was dead when the sitemap was read, and is not due for weeks then."""
    listed = ListedSite(1, 3)
    is_broken = False

    def app(path, headers):
        return SiteResponse(500) if is_broken and path == "/page/1" else listed(path, headers)

    async with serve(app) as site:
        await visit(site, tmp_path, "/index.xml", **KEEPS)
        listed.change("1")
        is_broken = True
        broken, _ = await visit(site, tmp_path, "/index.xml", max_retries=0, **COMES_BACK)
        assert broken.dead == 1
        is_broken = False
        _, answers = await visit(site, tmp_path, "/index.xml", **COMES_BACK)
        assert answers == {200: {"/page/1"}, 304: {"/index.xml", "/map/0"}}
        _, answers = await visit(site, tmp_path, "/index.xml", **COMES_BACK)
        assert answers == {200: set(), 304: {"/index.xml", "/map/0"}}


class Newspaper:
    """A feed of articles in one of two formats, with a logo and an enclosure, as feeds have them."""

    def __init__(self, kind):
        self.kind = kind
        self.articles = {"/a": 1_700_000_000.0, "/b": 1_700_000_000.0, "/c": 1_700_000_000.0}

    def __call__(self, path, headers):
        base = f"http://{headers['host']}"
        if path == "/feed":
            text = self._rss(base) if self.kind == "rss" else self._atom(base)
            return answer_condition(SiteResponse(body=text.encode(), content_type="text/xml"), headers)
        if path in self.articles:
            body = f"<h1>{path} of {self.articles[path]}</h1>".encode()
            return answer_condition(SiteResponse(body=body), headers)
        return SiteResponse(404)

    def _rss(self, base):
        items = "".join(
            f"<item><title>{path}</title><link>{base}{path}</link><guid isPermaLink='false'>{path}</guid>"
            f"<enclosure url='{base}/sound.mp3' length='1' type='audio/mpeg'/>"
            f"<pubDate>{formatdate(at, usegmt=True)}</pubDate></item>"
            for path, at in self.articles.items()
        )
        image = f"<image><url>{base}/logo.png</url><title>News</title><link>{base}/</link></image>"
        head = f"<title>News</title><link>{base}/</link><lastBuildDate>x</lastBuildDate>{image}"
        return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'

    def _atom(self, base):
        entries = "".join(
            f"<entry><title>{path}</title><link rel='enclosure' href='{base}/sound.mp3'/>"
            f"<link rel='alternate' href='{path}'/><published>2023-11-14T00:00:00Z</published>"
            f"<updated>{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at))}</updated></entry>"
            for path, at in self.articles.items()
        )
        head = f"<link rel='self' href='{base}/feed'/><link href='{base}/'/><logo>{base}/logo.png</logo>"
        return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>{head}{entries}</feed>'


@pytest.mark.parametrize("kind", ["rss", "atom"])
async def test_of_a_feed_only_what_is_new_or_has_changed_is_visited(kind, tmp_path):
    paper = Newspaper(kind)
    async with serve(paper) as site:
        first, answers = await visit(site, tmp_path, "/feed", **KEEPS)
        assert answers == {200: {"/feed", "/a", "/b", "/c"}, 304: set()}
        assert first.items == 3

        _, answers = await visit(site, tmp_path, "/feed", **COMES_BACK)
        assert answers == {200: set(), 304: {"/feed"}}

        del paper.articles["/c"]  # feeds forget what is old
        paper.articles |= {"/b": time.time(), "/d": time.time()}
        second, answers = await visit(site, tmp_path, "/feed", **COMES_BACK)
        assert answers == {200: {"/feed", "/b", "/d"}, 304: set()}
        assert second.items == 2
        assert second.left_out["link:not_due"] == 1


SPIDER = """
from gossamer import SitemapSpider


class Watching(SitemapSpider):
    name = "watching"
    sitemap_urls = ["{url}/index.xml"]

    def parse(self, response):
        yield {{"url": response.url}}
"""


def crawled(folder, *options):
    """What a crawl in a process of its own came to."""
    quick = ("--delay", "0", "--per-host", "4", "--json", "-q")
    done = run("crawl", "watching.py", *quick, *options, cwd=folder, timeout=1500)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sitemaps", "pages"),
    [(20, 2_500), pytest.param(200, 5_000, marks=[pytest.mark.thorough, pytest.mark.timeout(2000)])],
)
def test_an_index_of_many_pages_is_crawled_again_and_again_in_bounded_memory(tmp_path, sitemaps, pages):
    """All pages that are listed get into the frontier, and become known; a later crawl has them as seeds."""
    limits = ("--max-pages", str(sitemaps + 21))
    with serve_in_thread(ListedSite(1, pages)) as site:
        few = tmp_path / "few"
        few.mkdir()
        (few / "watching.py").write_text(SPIDER.format(url=site.url))
        base = crawled(few, "--max-pages", "20", "-s", "freshness.on=true")
    with serve_in_thread(ListedSite(sitemaps, pages)) as site:
        (tmp_path / "watching.py").write_text(SPIDER.format(url=site.url))
        first = crawled(tmp_path, *limits, "-s", "freshness.on=true")
        assert (first["finish_reason"], first["items"]) == ("max_pages", 20)
        assert asked("report freshness watching", cwd=tmp_path)["waiting"] == sitemaps * pages - 20
        second = crawled(tmp_path, *limits, "--recrawl", "--fresh")
        assert (second["finish_reason"], second["attempts"]) == ("max_pages", sitemaps + 21)
        assert second["by_status"]["304"] > 0
        for job in (first, second):
            assert job["peak_rss_mb"] - base["peak_rss_mb"] < 150
