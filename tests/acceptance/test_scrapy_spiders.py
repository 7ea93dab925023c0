"""Spiders written for Scrapy give the same items as there, unchanged."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit import scrapy_spiders
from kit.environment import environment
from kit.programs import run
from kit.quotes_site import QuotesSite
from kit.scrapy_runs import run_gossamer, run_scrapy


def serve_more(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """The site of quotes with feeds, a sitemap, and pages of odd kinds."""
    host = f"http://{headers.get('host', '')}"
    if path.startswith("/to"):
        return SiteResponse(302, headers=(("Location", "/page/2/"),))
    if path.partition("?")[0] == "/echo":
        said = {
            "body": headers.get(":body", ""),
            "own": headers.get("x-own"),
            "cookie": headers.get("cookie"),
        }
        said["type"] = headers.get("content-type")
        if "?" in path or headers.get("user-agent", "").startswith("own"):
            said["referer"] = headers.get("referer")
        return SiteResponse(body=json.dumps(said).encode(), content_type="application/json")
    return _FIXED.get(path.partition("?")[0]) or _site_map(path, host) or QuotesSite(35)(path, headers)


_FIXED = {
    "/feed.xml": SiteResponse(
        body=b"<?xml version='1.0'?><rss><channel><item><title>one</title></item>"
        b"<item><title>t&amp;wo</title></item></channel></rss>",
        content_type="application/rss+xml",
    ),
    "/feed.csv": SiteResponse(body=b"a;b\n1;'x;y'\n2;z\n", content_type="text/csv"),
    "/gone": SiteResponse(410, b"gone"),
    "/broken": SiteResponse(500, b"broken"),
    "/picture.png": SiteResponse(body=b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
    "/latin": SiteResponse(body="<p>Größe".encode("latin-1"), content_type="text/html; charset=latin-1"),
}


def _site_map(path: str, host: str) -> SiteResponse | None:
    if path == "/robots.txt":
        return SiteResponse(body=f"Sitemap: {host}/map.xml.gz".encode(), content_type="text/plain")
    if path == "/map.xml.gz":
        urls = "".join(
            f"<url><loc>{host}{page}</loc></url>" for page in ("/page/1/", "/page/2/", "/author/Ada-Weaver")
        )
        text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        return SiteResponse(body=gzip.compress(text.encode()), content_type="application/gzip")
    return None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(getattr(scrapy_spiders, name), id=name.lower())
        for name in vars(scrapy_spiders)
        if name.isupper()
    ],
)
def test_the_same_file_gives_the_same_items_as_in_scrapy(text: str, tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(text)
    with serve_in_thread(serve_more) as site:
        wanted = run_scrapy(file, url=site.url)
        assert len(wanted) >= 2
        assert run_gossamer(file, url=site.url) == wanted


PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = maker.settings\n",
    "maker/__init__.py": "",
    "maker/settings.py": "SPIDER_MODULES = ['maker.spiders']\nBOT_NAME = 'maker'\nDOWNLOAD_DELAY = 0\n"
    "ROBOTSTXT_OBEY = False\nUSER_AGENT = 'maker (+http://maker.example)'\nOWN = 'from the project'\n"
    "MEMUSAGE_LIMIT_MB = 5\n",
    "maker/items.py": "import scrapy\nclass Quote(scrapy.Item):\n"
    "    text = scrapy.Field()\n    own = scrapy.Field()\n",
    "maker/spiders/__init__.py": "",
    "maker/spiders/one.py": """
import scrapy
from ..items import Quote


class One(scrapy.Spider):
    name = "one"
    custom_settings = {"DEPTH_LIMIT": 1}

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.own = crawler.settings["OWN"]
        spider.start_urls = [spider.url + "/"]
        crawler.stats.set_value("made", True)
        return spider

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield Quote(own=self.own + " " + self.settings["BOT_NAME"], text=quote.css(".text::text").get())
        yield from response.follow_all(css="li.next a")
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.mark.long
def test_a_project_is_read_and_its_spiders_are_found_by_name(project: Path) -> None:
    listed = json.loads(run("list", "--json", cwd=project).stdout)
    assert [(spider["spider"], spider["class"]) for spider in listed] == [("one", "One")]
    with serve_in_thread(serve_more) as site:
        options = ("-a", f"url={site.url}", "-O", "out.jsonl")
        done = run("crawl", "one", *options, cwd=project)
        assert done.returncode == 0, done.stderr
        items = [json.loads(line) for line in (project / "out.jsonl").read_text().splitlines()]
        assert len(items) == 20, "two pages of ten, by DEPTH_LIMIT"
        assert {item["own"] for item in items} == {"from the project maker"}
        assert done.stderr.count("have no meaning here: MEMUSAGE_LIMIT_MB") == 1
        assert site.log.hits[0].headers["user-agent"] == "maker (+http://maker.example)"
        within = project / "maker" / "spiders"
        more = ("-s", "OWN=by hand", "-s", "DEPTH_LIMIT=2", "--fresh", "-s", "max_retries=0")
        done = run("crawl", "one.py", *options, *more, cwd=within)
        assert done.returncode == 0, done.stderr
        items = [json.loads(line) for line in (within / "out.jsonl").read_text().splitlines()]
        assert {item["own"] for item in items} == {"by hand maker"}
        assert len(items) == 30
        done = run("parse", f"{site.url}/", "--spider", "one", "-a", f"url={site.url}", cwd=project)
        assert "from the project maker" in done.stdout, done.stderr
        named = ("--spider", "one", "-a", f"url={site.url}")
        done = run("parse", f"{site.url}/", *named, "--callback", "no", cwd=project)
        assert "the spider 'one' has no method 'no'" in done.stderr
        code = "type(response).__module__, type(spider).__name__, response.request.callback"
        done = run("shell", f"{site.url}/", "-c", code, *named, cwd=project)
        assert done.stdout == "('scrapy.http.response.html', 'One', None)\n", done.stderr


def test_several_processes_crawl_the_same(project: Path) -> None:
    with serve_in_thread(serve_more) as site:
        options = ("-a", f"url={site.url}", "-s", "OWN=of each", "-s", "DEPTH_LIMIT=0", "-O", "out.jsonl")
        done = run("crawl", "one", *options, "--processes", "2", cwd=project)
    assert done.returncode == 0, done.stderr
    items = [json.loads(line) for line in (project / "out.jsonl").read_text().splitlines()]
    assert len(items) == 35
    assert {item["own"] for item in items} == {"of each maker"}


OLD = """
from scrapy import log, signals
from scrapy.contrib.linkextractors.sgml import SgmlLinkExtractor
from scrapy.contrib.loader import XPathItemLoader
from scrapy.contrib.loader.processor import TakeFirst
from scrapy.contrib.spiders import CrawlSpider, Rule
from scrapy.item import Field, Item
from scrapy.selector import HtmlXPathSelector
from scrapy.xlib.pydispatch import dispatcher
from twisted.internet import defer, reactor, task, threads


class Author(Item):
    name = Field(output_processor=TakeFirst())
    found = Field()
    page = Field()


class Old(CrawlSpider):
    name = "old"
    rules = (
        Rule(SgmlLinkExtractor(allow="/author/"), callback="parse_author"),
        Rule(SgmlLinkExtractor(allow=r"/page/\\d+/")),
    )

    def __init__(self, url=None, *args, **kwargs):
        super(Old, self).__init__(*args, **kwargs)
        self.start_urls = [url + "/"]

    @defer.inlineCallbacks
    def parse_author(self, response):
        found = yield threads.deferToThread(lambda: 3)
        yield task.deferLater(reactor, 0.01, lambda: None)
        log.msg("found", level=log.DEBUG)
        loader = XPathItemLoader(Author(found=found), response)
        loader.add_value("name", HtmlXPathSelector(response).select("//h3/text()").extract())
        loader.add_value("page", "html" if "<h3" in response.body_as_unicode() else None)
        defer.returnValue([loader.load_item()])
"""


@pytest.mark.long
def test_what_scrapy_has_dropped_is_there_for_spiders_of_its_time(tmp_path: Path) -> None:
    file = tmp_path / "old.py"
    file.write_text(OLD)
    with serve_in_thread(QuotesSite(15)) as site:
        found = run_gossamer(file, url=site.url)
    assert len(found) == 4
    assert {(item["found"][0] if isinstance(item["found"], list) else item["found"]) for item in found} == {3}
    assert all(item["name"] for item in found)


KILLED = """
import scrapy


class Killed(scrapy.Spider):
    name = "killed"

    def start_requests(self):
        yield scrapy.Request(self.url + "/", self.parse, dont_filter=True)

    def parse(self, response):
        page = int(response.url.rstrip("/").rpartition("/")[2] or 1) if "/page/" in response.url else 1
        for quote in response.css("div.quote"):
            yield {"same": page}
        meta = {"author": {"page": page, "seen": (page, {page})}}
        yield response.follow("/author/Ada-Weaver", self.parse_author, dont_filter=True, meta=meta)
        yield from response.follow_all(css="li.next a", callback=self.parse)
        if getattr(self, "end_at", None) == str(page):
            import os
            os.kill(os.getpid(), 9)

    def parse_author(self, response):
        page, (again,) = response.meta["author"]["seen"]
        yield {"author": page, "again": again}
"""


@pytest.mark.long
def test_a_crawl_that_is_killed_loses_nothing_and_stores_nothing_twice(tmp_path: Path) -> None:
    """Equal items have no key of their own, and requests past the filter are asked for once."""
    file = tmp_path / "killed.py"
    file.write_text(KILLED)
    with serve_in_thread(QuotesSite(95)) as site:
        for page in (3, 6, 9):
            options = ("-a", f"url={site.url}", "-s", "robots=false", "--delay", "0", "-O", "out.jsonl")
            file.write_text(KILLED.replace('getattr(self, "end_at", None)', f'"{page}"'))
            done = run("crawl", file.name, *options, cwd=tmp_path)
            assert done.returncode == -signal.SIGKILL
        file.write_text(KILLED)
        done = run("crawl", file.name, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = Counter(line for line in (tmp_path / "out.jsonl").read_text().splitlines())
    wanted = Counter({f'{{"same":{page}}}': 10 if page < 10 else 5 for page in range(1, 11)})
    wanted += Counter({f'{{"author":{page},"again":{page}}}': 1 for page in range(1, 11)})
    assert found == wanted


@pytest.mark.long
def test_lambdas_keep_a_crawl_in_one_process_and_off_a_fleet(tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(LOST)
    with serve_in_thread(QuotesSite(35)) as site:
        options = ("-a", f"url={site.url}", "-s", "robots=false", "--delay", "0", "-O", "out.jsonl")
        done = run("crawl", "lost.py", *options, "--processes", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        "'lost' is crawled with one process: the callback of a request in line 15 is a lambda" in done.stderr
    )
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
    done = run("submit", "lost.py", "-a", "url=http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot go to a fleet: the callback of a request in line 15 is a lambda" in done.stderr


def test_a_program_crawls_with_a_class(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(scrapy_spiders.START_REQUESTS + PROGRAM)
    with serve_in_thread(QuotesSite(35)) as site:
        done = subprocess.run(
            [sys.executable, script.name, site.url],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
            check=False,
        )
    assert done.stdout.splitlines() == ["35 quotes 35"], done.stderr


PROGRAM = """

async def main(url):
    from gossamer import crawl

    settings = {"delay": 0.0, "robots": False}
    result = await crawl(Quotes, arguments={"url": url}, data="data", **settings)
    found = [item async for item in result.items()]
    print(len(found), result.spider, result.items)


if __name__ == "__main__":
    import asyncio
    import sys

    asyncio.run(main(sys.argv[1]))
"""
LOST = """
import os

import scrapy


class Lost(scrapy.Spider):
    name = "lost"
    custom_settings = {"CONCURRENT_REQUESTS": 1}

    def start_requests(self):
        yield scrapy.Request(self.url + "/", self.parse)

    def parse(self, response):
        yield response.follow("/page/2/", callback=lambda found: self.end(found), priority=1)
        yield response.follow("/page/3/", callback=lambda found: {"n": 3}, meta={"open": object()})

    def end(self, response):
        if os.path.exists("kill"):
            os.kill(os.getpid(), 9)
        yield {"n": 2}
"""


@pytest.mark.long
def test_what_a_process_held_is_named_when_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(LOST)
    (tmp_path / "kill").touch()
    with serve_in_thread(QuotesSite(35)) as site:
        options = ("-a", f"url={site.url}", "-s", "robots=false", "--delay", "0", "-O", "out.jsonl")
        done = run("crawl", "lost.py", *options, cwd=tmp_path)
        assert done.returncode == -signal.SIGKILL
        (tmp_path / "kill").unlink()
        done = run("crawl", "lost.py", *options, cwd=tmp_path)
        assert "callback (Lost.parse.<locals>.<lambda> at" in done.stderr
        assert "meta['open'] (object)" in done.stderr
        assert "process has ended" in done.stderr
        dead = run("dead", "list", "lost-1", "--json", cwd=tmp_path).stdout
        assert "/page/2/" in dead
        assert "/page/3/" in dead
        done = run("crawl", "lost.py", *options, "--fresh", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
