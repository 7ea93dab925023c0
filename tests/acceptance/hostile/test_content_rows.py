"""What pages, sitemaps, robots.txt files and endless sites do to a crawl, and what goes into its outputs.

The numbers are those of the rows of hostile inputs; each test names the class that its row ends in.
"""

from __future__ import annotations

import asyncio
import codecs
import csv
import gzip
import io
import itertools
import json
import logging
import re
import resource
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import corpus

from gossamer import SitemapSpider, Spider, crawl
from gossamer.crawling import CrawlResult
from gossamer.observe.log import LineFormatter, LogSink
from gossamer.parse import sitemap
from gossamer.parse.sitemap import SitemapReader
from gossamer.policy.politeness import delay_in_force, settle
from gossamer.policy.robots import MAX_BYTES, RobotsRules, interpret
from gossamer.policy.traps import TrapRules, path_trap
from gossamer.store.export import write_items
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Site, serve, serve_in_thread
from gossamer.words.events import PageDone
from gossamer.words.model import Attempt, HostSignal, HostState, Rules, SignalKind, StoredItem, Verdict
from programs import rows

QUICK: dict[str, Any] = {"delay": 0.0, "per_host": 8, "max_retries": 0, "robots": False}
NOT_FOUND = SiteResponse(404)
SILENT = [type("Silent", (), {"emit": lambda self, event: None})()]


def html(text: str) -> SiteResponse:
    return SiteResponse(body=text.encode())


async def run(spider: type[Spider], data: Path, **settings: Any) -> CrawlResult:
    return await crawl(spider, sinks=SILENT, data=str(data), **{**QUICK, **settings})


def follower(*urls: str, **attributes: Any) -> type[Spider]:
    """A spider that follows every link."""

    def parse(self: Spider, response: Any) -> Any:
        yield from response.follow_all(response.links())

    return type("Follower", (Spider,), {"name": "follower", "start_urls": urls, "parse": parse, **attributes})


def mapped(*urls: str, **attributes: Any) -> type[Spider]:
    """A spider that reads sitemaps and keeps the URL of every page."""

    def parse(self: Spider, response: Any) -> Any:
        yield {"url": response.url}

    return type("Mapped", (SitemapSpider,), {"name": "m", "sitemap_urls": urls, "parse": parse, **attributes})


class Probe:
    """How late the loop comes to what is due every 20 ms, and how much memory is taken meanwhile."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._loop = asyncio.get_running_loop()
        self._loop.call_at(self._loop.time() + 0.02, self._tick, self._loop.time() + 0.02)

    def _tick(self, due: float) -> None:
        now = self._loop.time()
        self.worst_s = max(self.worst_s, now - due)
        self._loop.call_at(now + 0.02, self._tick, now + 0.02)

    @property
    def grown_mb(self) -> int:
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before) // 1024


def endings(data: Path) -> dict[str, str]:
    """How the last try at each URL ended."""
    return {url: reason or verdict for url, verdict, reason in rows(
        data, "select url, verdict, reason from attempt order by id")}  # fmt: skip


def paths(site: Site) -> list[str]:
    return [hit.path for hit in site.hits]


# --------------------------------------------------------------------------- encodings


ODD_PAGES = {
    "/header": SiteResponse(body=b"<h1>caf\xe9</h1>", content_type="text/html; charset=iso-8859-1"),
    "/header-beats-meta": SiteResponse(
        body="<meta charset=koi8-r><h1>café</h1>".encode(), content_type="text/html; charset=utf-8"
    ),
    "/mark-beats-header": SiteResponse(
        body=codecs.BOM_UTF8 + "<h1>café</h1>".encode(), content_type="text/html; charset=koi8-r"
    ),
    "/utf16": SiteResponse(body=codecs.BOM_UTF16_LE + "<h1>café</h1>".encode("utf-16-le")),
    "/utf16-without-mark": SiteResponse(body="<h1>café</h1>".encode("utf-16-le"), content_type="text/html"),
    "/utf7": SiteResponse(body=b"<h1>+ADw-script+AD4-</h1>", content_type="text/html; charset=utf-7"),
    "/nonsense": SiteResponse(body="<h1>café</h1>".encode(), content_type="text/html; charset=nonsense"),
    "/junk": SiteResponse(body=bytes(range(256)) * 4, content_type="text/html; charset=utf-8"),
}


async def test_row_23_charsets_that_are_wrong_or_in_conflict_never_raise(tmp_path: Path) -> None:
    """``success``: what cannot be read is U+FFFD. UTF-7 is never spoken."""

    def app(path: str, headers: Any) -> SiteResponse:
        return ODD_PAGES.get(path, NOT_FOUND)

    class Heads(Spider):
        name = "heads"

        def parse(self, response: Any) -> Any:
            yield {
                "path": response.url[-40:],
                "head": response.css("h1::text").get(""),
                "text": response.text,
            }

    async with serve(app) as site:
        Heads.start_urls = [site.url + path for path in ODD_PAGES]
        result = await run(Heads, tmp_path)
    assert (result.items, result.dead, result.finish_reason) == (len(ODD_PAGES), 0, "finished")
    assert set(endings(tmp_path).values()) == {"success"}
    found = [json.loads(data) for (data,) in rows(tmp_path, "select data from item")]
    heads = {"/" + item["path"].rpartition("/")[2]: item["head"] for item in found}
    for path in ("/header", "/header-beats-meta", "/mark-beats-header", "/utf16", "/nonsense"):
        assert heads[path] == "café", path
    assert heads["/utf7"] == "+ADw-script+AD4-"


async def test_row_24_nul_and_surrogates_are_stored_and_cost_nobody_else_anything(tmp_path: Path) -> None:
    """``success``: NUL and lone surrogates become U+FFFD, in one batch with the others."""

    class Odd(Spider):
        name = "odd"

        def parse(self, response: Any) -> Any:
            yield {"n": 1, "text": "a\0b"}
            yield {"n": 2, "text": "lone \ud800 half"}
            yield {"n": 3, "text": "\ufffe\uffff", "\udfff key": 1}
            yield {"n": 4, "text": "plain"}

    async with serve(lambda path, headers: html("<title>a&#xD800;b\0c</title>")) as site:
        Odd.start_urls = [site.url + "/"]
        result = await run(Odd, tmp_path)
    assert (result.pages, result.dead) == (1, 0)
    found = {item["n"]: item for item in (json.loads(x) for (x,) in rows(tmp_path, "select data from item"))}
    assert found[1]["text"] == "a\ufffdb"
    assert found[2]["text"] == "lone \ufffd half"
    assert found[3]["text"] == "\ufffe\uffff"
    assert found[4]["text"] == "plain"
    assert (len(found), result.dropped) == (4, 0)
    stored = [StoredItem(type="item", key="", data=item, url="", first_seen=0, last_seen=0, changed_at=0)
              for item in found.values()]  # fmt: skip
    for suffix in ("jsonl", "json", "csv", "xml"):
        assert await write_items(stored, tmp_path / f"x.{suffix}") == len(found)


# --------------------------------------------------------------------------- sitemaps


BOMB = (
    "<!DOCTYPE z [<!ENTITY a 'lol'><!ENTITY b '&a;&a;'>]><urlset><url><loc>http://h/&b;</loc></url></urlset>"
)
OUTSIDE = (
    '<!DOCTYPE urlset SYSTEM "{url}/dtd" [<!ENTITY f SYSTEM "file:///etc/passwd">'
    '<!ENTITY h SYSTEM "{url}/hit">'
    "]><urlset><url><loc>{url}/&f;</loc></url><url><loc>{url}/&h;</loc></url></urlset>"
)


async def test_row_35_entities_are_never_expanded_nor_opened(tmp_path: Path) -> None:
    """``success`` with ``sitemap:entities`` dropped; no file is read and no other request made."""
    bombs = {"/laughs.xml": corpus("sitemaps/billion_laughs.xml").read_bytes(), "/bomb.xml": BOMB.encode()}

    def app(path: str, headers: Any) -> SiteResponse:
        body = bombs.get(path) or (OUTSIDE.format(url=site.url).encode() if path == "/out.xml" else b"")
        return SiteResponse(body=body, content_type="application/xml") if body else NOT_FOUND

    async with serve(app) as site:
        names = ["/laughs.xml", "/bomb.xml", "/out.xml"]
        result = await run(mapped(*(site.url + name for name in names)), tmp_path)
        assert sorted(paths(site)) == sorted(names)
    assert result.left_out == {"sitemap:entities": 3}
    assert set(endings(tmp_path).values()) == {"success"}


def index(*urls: str) -> SiteResponse:
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return SiteResponse(body=f"<sitemapindex>{listed}</sitemapindex>".encode(), content_type="text/xml")


async def test_row_36_sitemaps_that_list_each_other_end(tmp_path: Path) -> None:
    """Loops are duplicates of the frontier; depth ends as ``sitemap:too_deep``."""

    def app(path: str, headers: Any) -> SiteResponse:
        if path.startswith("/level"):
            return index(f"{site.url}/level{int(path[6:]) + 1}")
        return {
            "/self": index(f"{site.url}/self", f"{site.url}/other"),
            "/other": index(f"{site.url}/self", f"{site.url}/pages"),
            "/pages": SiteResponse(
                body=f"<urlset><url><loc>{site.url}/page".encode() + b"</loc></url></urlset>"
            ),
            "/page": html("<h1>x</h1>"),
        }.get(path, NOT_FOUND)

    async with serve(app) as site:
        result = await run(mapped(f"{site.url}/self", f"{site.url}/level0"), tmp_path)
        assert max(Counter(paths(site)).values()) == 1
        assert sorted(paths(site)) == ["/level0", "/level1", "/level2", "/other", "/page", "/pages", "/self"]
    assert result.finish_reason == "finished"
    assert result.left_out == {"sitemap:too_deep": 1}
    assert result.items == 1


def read(body: bytes, **options: Any) -> tuple[list[str], dict[str, int], float]:
    """The URLs, what was not taken, and the longest time between two pauses."""
    reader, longest, found = SitemapReader(body, "http://h.test/sitemap", **options), 0.0, []
    batches = reader.batches()
    while True:
        begin = time.thread_time()
        batch = next(batches, None)
        longest = max(longest, time.thread_time() - begin)
        if batch is None:
            return found, reader.trouble, longest
        found += [location.url for location in batch]


def urlset(count: int) -> bytes:
    urls = (f"<url><loc>http://h.test/p/{n}?a=1&amp;b={n}</loc></url>\n" for n in range(count))
    return ("<urlset>" + "".join(urls) + "</urlset>").encode()


def test_row_36_large_packed_and_endless_sitemaps_are_read_to_their_bounds() -> None:
    """``too_many``, ``too_large``, ``packing`` and ``broken``, and never long without a pause."""
    body = urlset(sitemap.MAX_URLS + 10_000)
    cases = {
        "plain": (body, sitemap.MAX_URLS, {"too_many": 1}),
        "gz": (gzip.compress(urlset(10)), 10, {}),
        "gz in gz": (gzip.compress(gzip.compress(urlset(10))), 10, {}),
        "thrice": (gzip.compress(gzip.compress(gzip.compress(urlset(10)))), 0, {"packing": 1}),
        "cut off": (gzip.compress(urlset(1000))[:-20], None, {"broken": 1}),
        "members": (gzip.compress(b"") * 5_000 + gzip.compress(urlset(10)), 10, {}),
        "one tag": (b"<urlset><url><loc>" + b"a" * 1_000_000, 0, {}),
        "comment": (b"<urlset><!--" + b">" * 1_000_000 + b"-->" + urlset(1), 1, {}),
        "openings": (b"<url><loc>" * 30_000, 0, {}),
        "brackets": (b"<" * 300_000, 0, {}),
    }
    for name, (given, count, trouble) in cases.items():
        found, told, longest = read(given)
        assert told == trouble, name
        assert count is None or len(found) == count, name
        assert longest < 0.2, (name, longest)
    bomb = gzip.compress(b"\n" * 5_000_000)
    assert read(bomb, max_bytes=1_000_000)[:2] == ([], {"too_large": 1})
    assert read(gzip.compress(bomb), max_bytes=1_000_000)[:2] == ([], {"too_large": 1})


async def test_row_36_a_sitemap_of_full_size_holds_nobody_up(tmp_path: Path) -> None:
    """``success``: fifty thousand URLs pass the door in slices between which other work goes on."""
    body = gzip.compress(urlset(sitemap.MAX_URLS).replace(b"http://h.test", b""), 1)
    with serve_in_thread(
        lambda path, headers: SiteResponse(body=body, content_type="application/gzip")
    ) as site:
        probe = Probe()
        result = await run(mapped(site.url + "/map.xml.gz"), tmp_path, max_pages=1)
    assert rows(tmp_path, "select pending from frontier") == [(sitemap.MAX_URLS,)]
    assert result.finish_reason == "max_pages"
    print(f"{probe.worst_s:.3f} s late, {probe.grown_mb} MB more")
    assert probe.worst_s < 0.5  # the aim is 0.2; a busy machine needs some room
    assert probe.grown_mb < 300


def test_row_37_real_sitemaps_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the makers of the corpus expect, however the bytes are cut into slices."""
    expected = {
        "atom.xml": 1, "do-not-visit.txt": 1, "rss/feed.rss": 4, "rss/xmlRss_pubDate.xml": 7,
        "sitemap-with-bom.txt": 2, "sitemap.badns.xml": 2, "sitemap.index.xml": 15, "sitemap.ns.xml": 2,
        "sitemap.txt": 2, "sitemap.txt.gz": 5, "xmlSitemap.gz": 5,
    }  # fmt: skip
    folder = corpus("sitemaps/crawler-commons")
    whole = {name: read((folder / name).read_bytes()) for name in expected}
    assert {name: len(found) for name, (found, _, _) in whole.items()} == expected
    assert all(trouble == {} for _, trouble, _ in whole.values())
    for size in (1, 7, 50):
        monkeypatch.setattr(sitemap, "SLICE", size)
        monkeypatch.setattr(sitemap, "HEAD", 100)
        for name, (found, _, _) in whole.items():
            assert read((folder / name).read_bytes())[0] == found, (name, size)


def test_row_37_broken_sitemaps_give_what_they_have() -> None:
    one = ["http://h.test/a?x=1&y=2"]
    assert read(b"<urlset><url><loc>http://h.test/a?x=1&y=2</loc></url>")[0] == one  # bare ampersand, no end
    assert read(b"<x:urlset><x:url><x:loc><![CDATA[http://h.test/a?x=1&y=2]]></x:loc></x:url>")[0] == one
    text = "<?xml version='1.0'?><urlset><url><loc>/a?x=1&#38;y=2</loc></url></urlset>"
    for encoded in (
        text.encode("utf-16"),
        text.encode("utf-16-le"),
        b"\n " + text.encode(),
        b"\0" + text.encode(),
    ):
        found = read(encoded)[0]
        assert found == one or encoded[0] == 0
    images = b"<url><image:image><image:loc>http://h.test/i</image:loc></image:image><loc>/a?x=1&amp;y=2</loc></url>"
    assert read(images)[0] == one
    assert read(b"<!doctype html><html><body><a href=/x>x</a>")[1] == {"html": 1}
    assert read(b"<url><loc>javascript:alert(1)</loc></url><url><loc>http://</loc></url>")[1] == {
        "bad_url": 2
    }
    assert read(bytes(range(256)) * 100)[0] == []
    assert read(b"")[0] == []


async def test_row_37_other_hosts_are_taken_only_when_their_robots_name_the_sitemap(tmp_path: Path) -> None:
    """``sitemap:other_host``: nobody lists the pages of others."""

    def app(path: str, headers: Any) -> SiteResponse:
        if path == "/robots.txt":
            return SiteResponse(
                body=f"User-agent: *\nSitemap: {one.url}/map.xml\n".encode(), content_type="text/plain"
            )
        if path == "/map.xml":
            both = f"<url><loc>{one.url}/a</loc></url><url><loc>{two.url}/b</loc></url>"
            return SiteResponse(body=f"<urlset>{both}</urlset>".encode(), content_type="text/xml")
        return html("<h1>x</h1>")

    async with serve(app) as one, serve(app, host="127.0.0.2") as two:
        refused = await run(mapped(f"{one.url}/map.xml"), tmp_path / "a")
        assert refused.left_out == {"sitemap:other_host": 1}
        assert (refused.items, len(two.hits)) == (1, 0)
        named = await run(mapped(f"{two.url}/robots.txt", start_urls=[f"{one.url}/start"]), tmp_path / "b")
        assert (named.items, named.left_out) == (3, {})
        # A robots.txt names no private address for us (rows 46, 48).
        await run(mapped(f"{two.url}/robots.txt"), tmp_path / "d")
        assert endings(tmp_path / "d")[f"{one.url}/map.xml"] == "guard"
        domains = mapped(f"{one.url}/map.xml", allowed_domains=["127.0.0.1", "127.0.0.2"])
        assert (await run(domains, tmp_path / "c")).items == 2


# --------------------------------------------------------------------------- robots.txt


def test_row_38_robots_files_that_are_none() -> None:
    """HTML and junk hold no rules; other line ends and encodings do; what is too long is cut at a line."""
    deny = b"User-agent: *\nDisallow: /secret\n"
    texts = {
        "plain": deny,
        "CR only": deny.replace(b"\n", b"\r"),
        "mark": codecs.BOM_UTF8 + deny,
        "utf-16": deny.decode().encode("utf-16"),
        "10 MB": deny + b"# x\n" * 2_500_000,
    }
    for name, body in texts.items():
        begin = time.thread_time()
        rules = RobotsRules(interpret(200, body))
        assert not rules.allowed("http://h/secret", "gossamer"), name
        assert rules.allowed("http://h/open", "gossamer"), name
        assert len(rules.record.text) <= MAX_BYTES
        assert time.thread_time() - begin < 0.5, name
    page = b"<!doctype html><html><body>Disallow: /</body></html>"
    for name, body in {"html": page, "binary": bytes(range(256)) * 100, "no agent": b"Disallow: /\n"}.items():
        assert RobotsRules(interpret(200, body)).allowed("http://h/secret", "gossamer"), name
    real = sorted((corpus("robots/real")).rglob("*"))
    assert len(real) > 100
    for file in real:
        if file.is_file():
            RobotsRules(interpret(200, file.read_bytes())).allowed("http://h/x", "gossamer")


async def test_row_39_what_the_status_of_robots_means_to_a_crawl(tmp_path: Path) -> None:
    """4xx allows, 5xx is ``robots_unreachable``; a hundred URLs of a host ask once."""
    statuses = {"127.0.0.1": 404, "127.0.0.2": 403, "127.0.0.3": 500, "127.0.0.4": 200}

    def app(path: str, headers: Any) -> SiteResponse:
        host = headers["host"].partition(":")[0]
        if path == "/robots.txt":
            return SiteResponse(statuses[host], b"User-agent: *\nDisallow: /no", "text/plain")
        return html("<h1>x</h1>")

    async with AsyncExitStack() as stack:
        sites = {host: await stack.enter_async_context(serve(app, host=host)) for host in statuses}
        ends = {host: site.url for host, site in sites.items()}
        urls = [f"{end}/{n}" for end in ends.values() for n in range(25)] + [f"{ends['127.0.0.4']}/no"]
        result = await run(follower(*urls), tmp_path, robots=True, concurrency=100, max_time=5.0)
        asked = {host: paths(site).count("/robots.txt") for host, site in sites.items()}
    assert asked == dict.fromkeys(statuses, 1)
    found = endings(tmp_path)
    for host in ("127.0.0.1", "127.0.0.2", "127.0.0.4"):
        assert {found[f"{ends[host]}/{n}"] for n in range(25)} == {"success"}, host
    assert {found[f"{ends['127.0.0.3']}/{n}"] for n in range(25)} == {"robots_unreachable"}
    assert found[f"{ends['127.0.0.4']}/no"] == "robots"
    assert result.pages == 75


@pytest.mark.parametrize(
    ("asked", "delay_s"), [("1e9", 30.0), ("-1", 0.5), ("NaN", 0.5), ("inf", 0.5), ("2", 2.0), ("soon", 0.5)]
)
def test_row_40_crawl_delays_are_capped_or_ignored(asked: str, delay_s: float) -> None:
    """Not an error: the host is asked as slowly as the cap allows, or at its ordinary pace."""
    robots = RobotsRules(interpret(200, f"User-agent: *\nCrawl-delay: {asked}\n".encode()))
    signal = HostSignal(
        kind=SignalKind.OK,
        started_at=1.0,
        latency_s=0.1,
        crawl_delay_s=robots.crawl_delay("gossamer"),
        robots_read=True,
    )
    rules = Rules(delay_s=0.5)
    state = settle(HostState(in_flight=1), rules, signal, now=1.0, is_page=False, jitter=0.0)
    assert delay_in_force(state, rules) == delay_s
    assert state.next_at <= 1.0 + delay_s


# --------------------------------------------------------------------------- traps


def links(*targets: str) -> SiteResponse:
    return html("".join(f'<a href="{target}">x</a>' for target in targets))


def calendar(path: str, headers: Any) -> SiteResponse:
    """Every month links to the next one, and every page to the next page."""
    month = int(re.sub(r"\D", "", path.partition("?")[0]) or 0)
    page = int(path.partition("page=")[2] or 1)
    return links(f"/calendar/{month + 1}", f"/calendar/{month}?page={page + 1}")


def good(path: str, headers: Any) -> SiteResponse:
    number = int(path[1:] or 0)
    return html(
        f"{number}" + "".join(f'<a href="/{n}">x</a>' for n in (2 * number + 1, 2 * number + 2) if n < 60)
    )


async def test_row_41_an_infinite_site_beside_a_good_one_costs_only_its_budget(tmp_path: Path) -> None:
    """``max_pages``: the budget of the host is spent, the other host is complete."""
    async with serve(calendar) as bad, serve(good, host="127.0.0.2") as fine:
        spider = follower(bad.url + "/", fine.url + "/")
        result = await run(spider, tmp_path, max_pages_per_host=100)
        assert (len(bad.hits), len(fine.hits)) == (100, 60)
        assert result.finish_reason == "max_pages"


async def test_row_41_a_pattern_has_a_budget_of_its_own(tmp_path: Path) -> None:
    """``link:trap_pattern``: the crawl is finished, with so many URLs of each pattern."""
    async with serve(calendar) as bad, serve(good, host="127.0.0.2") as fine:
        settings = {"traps.max_per_pattern": 60}
        result = await run(follower(bad.url + "/", fine.url + "/"), tmp_path, **settings)
        assert len(fine.hits) == 60
        assert 100 < len(bad.hits) <= 121
        assert max(Counter(paths(bad)).values()) == 1
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_pattern"] > 0
    assert (await run(follower(bad.url + "/"), tmp_path / "deep", max_depth=3, max_pages=1)).pages == 0


async def test_row_42_session_ids_and_random_queries_end(tmp_path: Path) -> None:
    """``link:trap_same_body``: pages with the same words are the same, whatever ids they carry."""
    serial = itertools.count()

    def app(path: str, headers: Any) -> SiteResponse:
        word = f"{(next(serial) * 2654435761) % 2**32:08x}"
        return links(*(f"/shop?sid={word}{n}a" for n in range(4)))

    async with serve(app) as site:
        settings = {"traps.max_same_body": 50}
        result = await run(follower(site.url + "/shop?sid=1"), tmp_path, **settings, max_pages=5000)
        assert len(site.hits) < 400
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_same_body"] > 100
    # Ids that are known by name can be left out from the start.
    async with serve(app) as site:
        result = await run(follower(site.url + "/shop?sid=1"), tmp_path / "b", drop_session_ids=True)
        assert (len(site.hits), result.finish_reason) == (1, "finished")


async def test_row_43_paths_that_nest_into_themselves_end(tmp_path: Path) -> None:
    """``link:trap_repeats`` and ``link:trap_segments``."""

    def app(path: str, headers: Any) -> SiteResponse:
        serial = path.count("/")
        return links("a/", "b/c/") if path.startswith("/same") else links(f"x{serial}/")

    async with serve(app) as site:
        result = await run(follower(f"{site.url}/same/", f"{site.url}/deep/"), tmp_path, max_pages=8000,
                           **{"traps.max_segments": 8})  # fmt: skip
        asked = paths(site)
    assert result.finish_reason == "finished"
    assert "/same/a/a/" in asked
    assert not [path for path in asked if "/a/a/a/" in path or "/b/c/b/c/b/c/" in path]
    assert max(path.count("/") for path in asked) == 9
    assert result.left_out["link:trap_repeats"] > 0
    assert result.left_out["link:trap_segments"] > 0


def test_row_43_real_addresses_are_no_traps_and_long_ones_are_judged_at_once() -> None:
    rules = TrapRules()
    for path in (
        "/",
        "",
        "/a/a/",
        "/a/b/a/b/",
        "/2024/01/01/",
        "//x//y",
        "/a/b/c/a/b/c",
        "/en/docs/en/docs/x",
    ):
        assert path_trap("http://h.test" + path, rules) is None, path
    for path in ("/a/a/a", "/x/a/a/a/y", "/a/b/a/b/a/b/", "////", "/a/a/a?b"):
        assert path_trap("http://h.test" + path, rules) == "trap_repeats", path
    assert path_trap("http://h.test/" + "/".join("abcdefghijklmnopqrstu"), rules) == "trap_segments"
    begin = time.thread_time()
    for one in ("a/", "a/b/", "ab/cd/ef/"):
        path_trap("http://h.test/" + one * 4000, TrapRules(max_segments=None, max_repeats=5000))
    assert time.thread_time() - begin < 0.2
    pages = [json.loads(line) for line in corpus("pages/links.jsonl").read_text().splitlines()]
    real = {url for page in pages for url in page["links"]}
    assert len(real) > 4000
    assert {url: trap for url in real if (trap := path_trap(url, rules))} == {}


async def test_row_44_the_same_body_on_thousands_of_urls_is_followed_only_so_often(tmp_path: Path) -> None:
    """``link:trap_same_body``: the pages are kept, their links are not followed any more."""

    def app(path: str, headers: Any) -> SiteResponse:
        return links("l/", "r/") if path != "/other" else links("/more")

    async with serve(app) as site:
        spider = follower(f"{site.url}/", f"{site.url}/other")
        result = await run(
            spider, tmp_path, max_pages=500, **{"traps.max_same_body": 40, "traps.max_repeats": None}
        )
        assert 80 <= len(site.hits) <= 85
        assert "/more" in paths(site)
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_same_body"] >= 80


async def test_row_45_a_site_that_answers_everywhere_has_one_budget_for_its_domain(tmp_path: Path) -> None:
    """``link:trap_domain``: hosts below one registrable domain count together."""
    from engine_kit import follow
    from gossamer.engine.admission import Admission
    from gossamer.policy.scope import Scope
    from gossamer.policy.traps import Traps
    from gossamer.policy.urls import UrlOptions
    from gossamer.words.model import Request

    door = Admission(Scope(), UrlOptions(), b"k", traps=Traps(TrapRules(max_per_domain=50)))
    dropped: dict[str, int] = {}
    taken = []
    for n in range(40):
        found = follow(*(f"http://h{n}-{i}.wild.co.uk/" for i in range(10)), f"http://good{n}.co.uk/")
        taken += door.admit_links(Request("http://wild.co.uk/"), found.requests, dropped)
    assert dropped == {"link:trap_domain": 350}
    assert Counter(entry.host.endswith(".wild.co.uk") for entry in taken) == {True: 50, False: 40}


# --------------------------------------------------------------------------- outputs


CELLS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    'say "hi", you',
    "two\nlines",
    "a,b;c",
    "plain",
]


def stored(data: dict[str, Any]) -> StoredItem:
    return StoredItem(type="item", key="", data=data, url="", first_seen=0, last_seen=0, changed_at=0)


async def test_row_50_csv_is_exact_by_default_and_safe_when_asked() -> None:
    """No error: in safe mode a formula gets a leading apostrophe, headers included."""
    items = [stored({"=name": cell, "n": n}) for n, cell in enumerate(CELLS)]

    async def written(**options: Any) -> list[list[str]]:
        out = io.BytesIO()
        await write_items(items, out, "csv", **options)
        return list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))

    exact = await written()
    assert exact[0] == ["=name", "n"]
    assert [row[0] for row in exact[1:]] == CELLS
    safe = await written(safe_csv=True)
    assert safe[0] == ["'=name", "n"]
    assert [row[0] for row in safe[1:]] == [f"'{cell}" for cell in CELLS[:6]] + CELLS[6:]


async def test_row_51_sql_in_texts_and_field_names_is_text(tmp_path: Path) -> None:
    """``success``: parameters only; names of fields are data, ten thousand of them too."""
    evil = 'a"; drop table item; --'

    class Evil(Spider):
        name = "'; drop table job; --"

        def parse(self, response: Any) -> Any:
            yield {evil: "'); delete from attempt; --", "url": "x' or '1'='1"}
            yield {f"field {n}\"'`]": n for n in range(10_000)}

    async with serve(lambda path, headers: html(f"<title>{evil}</title>")) as site:
        Evil.start_urls = [f"{site.url}/?q={evil}"]
        result = await run(Evil, tmp_path)
    assert (result.items, result.dead, result.dropped) == (2, 0, 0)
    assert rows(tmp_path, "pragma integrity_check") == [("ok",)]
    found = [json.loads(data) for (data,) in rows(tmp_path, "select data from item order by id")]
    assert found[0][evil] == "'); delete from attempt; --"
    assert len(found[1]) == 10_000
    assert rows(tmp_path, "select distinct spider from item") == [(Evil.name,)]
    for suffix in ("jsonl", "json", "csv", "xml"):
        assert await write_items(map(stored, found), tmp_path / f"x.{suffix}") == 2
    with (tmp_path / "x.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert first[evil] == found[0][evil]


NAMES = [
    "../../etc/x",
    "%2e%2e/%2e%2e",
    "a\0b",
    "CON",
    "x" * 300,
    "Case",
    "cASE",
    "..",
    "",
    "-rf",
    "a/../../b",
]


@pytest.mark.parametrize("name", NAMES)
def test_row_52_no_file_is_named_by_what_strangers_write(tmp_path: Path, name: str) -> None:
    """Names of spiders and jobs become slugs; everything written lies below the data directory."""
    data = tmp_path / "deep" / "data"
    spider = follower("http://127.0.0.1:9/", name=name or "-")
    result = asyncio.run(run(spider, data, **{"http.connect_timeout": 1.0}))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*-\d+", result.job)
    assert {path.name for path in sorted(tmp_path.rglob("*")) if data not in path.parents} == {"deep", "data"}
    written = list(data.rglob("*"))
    assert written
    assert all(path.resolve().is_relative_to(data.resolve()) and len(path.name) < 100 for path in written)


def test_row_54_one_event_is_one_printable_line() -> None:
    """No error: line breaks, escapes and megabytes of strangers are escaped and cut."""
    texts = ("\r\nWARNING fake", "\x1b[31mred\x07", "%s{}%n{0}", "a" * 10**6, "\u202egnp.exe", "\u2028x")
    evil = [*(f"http://h/{text}" for text in texts), "http://user:canary@h/"]
    out = io.StringIO()
    logger = logging.Logger("test", logging.DEBUG)
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter())
    logger.addHandler(handler)
    sink = LogSink(logger)
    for n, url in enumerate(evil):
        attempt = Attempt(
            at=0.0, url=url, fingerprint=n, verdict=Verdict.DEAD, reason=url, detail=url, via=url
        )
        sink.emit(PageDone(at=0.0, job="j-1", attempt=attempt, dropped={f"item:{url}": 1}))
    text = out.getvalue()
    lines = text.splitlines()
    assert len(lines) == 2 * len(evil)
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING ", line) for line in lines)
    assert text.replace("\n", "").isprintable()
    assert max(map(len, lines)) < 2000
