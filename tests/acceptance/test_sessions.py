"""A crawl that logs in is logged in wherever and whenever it goes on."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import asked, gossamer
from kit.members_site import MOVED, PAGES, Members, spider_file
from kit.programs import crawl, rows, start

SLOW = ("--delay", "0", "--per-host", "4", "--concurrency", "4", "-s", "retry_backoff=0.1")


def wait_for_pages(app: Members, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(app.read) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(app.read) >= count


def all_pages_are_had(data: Path, app: Members) -> None:
    assert app.refused == [], "every page was asked for by somebody who was logged in"
    assert rows(data, "select count(*) from item") == [(PAGES,)]
    assert rows(data, "select count(distinct url) from page where url like '%/page/%'") == [(PAGES,)]


def log_ins(site: Site) -> int:
    return sum(hit.method == "POST" for hit in site.hits)


@pytest.mark.parametrize(
    ("how", "processes"),
    [
        (signal.SIGKILL, "1"),
        (signal.SIGINT, "2"),
        pytest.param(signal.SIGINT, "1", marks=pytest.mark.thorough),
        pytest.param(signal.SIGKILL, "2", marks=pytest.mark.thorough),
    ],
)
def test_a_crawl_that_is_resumed_is_still_logged_in(
    how: signal.Signals, processes: str, tmp_path: Path
) -> None:
    app, data = Members(delay_s=0.1), tmp_path / "data"
    with serve_in_thread(app) as site:
        spider = spider_file(tmp_path, site.url)
        options = (spider, "--data", data, *SLOW, "--processes", processes)
        process = start("crawl", *options)
        wait_for_pages(app, 6)
        process.send_signal(how)
        process.wait(30)
        assert rows(data, "select count(*) from page")[0][0] < PAGES, "it was stopped in the middle"
        result = crawl(*options)
        assert (result["finish_reason"], result["redirects_to_known"]) == ("finished", MOVED)
        assert log_ins(site) == 1
    all_pages_are_had(data, app)


def test_a_fresh_start_begins_without_cookies(tmp_path: Path) -> None:
    app, data = Members(), tmp_path / "data"
    with serve_in_thread(app) as site:
        spider = spider_file(tmp_path, site.url)
        crawl(spider, "--data", data, *SLOW)
        sent = [hit.headers.get("cookie") for hit in site.hits]
        crawl(spider, "--data", data, *SLOW, "--fresh")
        assert [hit.headers.get("cookie") for hit in site.hits if hit.path == "/login"] == [None, None]
        assert any(sent)
        assert log_ins(site) == 2
    all_pages_are_had(data, app)


ACCOUNTS = """
from gossamer import Request, Spider


class Accounts(Spider):
    name = "accounts"

    async def start(self):
        yield Request("{url}/home", self.parse_visit, session="early", dont_filter=True)
        yield Request("{url}/home", self.parse_visit)
        for who in ("ann", "bob"):
            yield Request("{url}/as/" + who, session=who)

    def parse_visit(self, response):
        yield {"url": response.url, "who": response.request.session or "nobody"}

    def parse(self, response):
        yield {"url": response.url, "who": response.css("b::text").get()}
        yield from response.follow_all(css="a")
"""


def accounts(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Each page says whose it is; the log-in leads to a home with links."""
    if path == "/robots.txt":
        return SiteResponse(404)
    if path.startswith("/as/"):
        return SiteResponse(302, headers=(("Location", "/home"), ("Set-Cookie", f"who={path[4:]}; Path=/")))
    links = "".join(f"<a href=/{number}>x</a>" for number in range(5)) if path == "/home" else ""
    return SiteResponse(200, f"<b>{headers.get('cookie', '')[4:]}</b>{links}".encode())


@pytest.mark.parametrize("layout", [(), ("-s", "store.url=sqlite:///items.db"), ("-s", "memory=true")])
def test_two_accounts_have_each_page_and_the_usual_session_too(
    tmp_path: Path, layout: tuple[str, ...]
) -> None:
    with serve_in_thread(accounts) as site:
        (tmp_path / "accounts.py").write_text(ACCOUNTS.replace("{url}", site.url))
        gossamer("crawl accounts.py -o items.jsonl --delay 0", *layout, cwd=tmp_path)
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        pages = [f"{site.url}/{name}" for name in ("home", *range(5))]
        had = sorted((item["url"], item["who"]) for item in items)
        assert had == sorted(
            [(url, who) for url in pages for who in ("ann", "bob")]
            + [(pages[0], "early"), (pages[0], "nobody")]
        )
        if "memory=true" not in layout:
            told = asked(f"explain {pages[1]} --session ann", *layout, cwd=tmp_path)
            assert told["answer"] == "done"
            assert "GET (session bob): It was fetched" in " ".join(told["lines"])
            usual = asked(f"explain {pages[1]}", *layout, cwd=tmp_path)
            assert "GET (session ann): It was fetched" in " ".join(usual["lines"])
