"""Middlewares of Scrapy's projects see what they see in Scrapy, and what they do has the same effect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Site, serve_in_thread
from kit import scrapy_middlewares
from kit.command_line import FAST
from kit.programs import rows, run
from kit.scrapy_runs import read_items, run_gossamer, run_scrapy

PASSWORD = "canaryproxy7d1f"
FIXED = {
    "/robots.txt": SiteResponse(404),
    "/broken": SiteResponse(500, b"broken"),
    "/gone": SiteResponse(410, b"gone"),
    "/to": SiteResponse(302, headers=(("Location", "/target"),)),
    "/moved": SiteResponse(302, headers=(("Location", "/target"),)),
}


class Pages:
    """A site, one page of which is busy for two requests."""

    def __init__(self) -> None:
        self.busy = 2
        self.forbidden = 0

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        path = path.removeprefix(f"http://{headers.get('host', '')}")  # as a proxy is asked
        if path == "/busy" and self.busy:
            self.busy -= 1
            return SiteResponse(503, b"busy")
        if path == "/forbidden":
            self.forbidden += 1
            return SiteResponse(403) if self.forbidden % 2 else SiteResponse(body=b"<h1>let in</h1>")
        if path == "/echo":
            said = {name: headers.get(name) for name in ("user-agent", "x-start")}
            return SiteResponse(body=json.dumps(said).encode(), content_type="application/json")
        return FIXED.get(path) or SiteResponse(body=f"<h1>{path}</h1>".encode())


def crawl_old(folder: Path, text: str, *options: str, code: int = 0) -> tuple[dict[str, Any], str]:
    """The items of a crawl by path, and what it said."""
    (folder / "old.py").write_text(text)
    done = run("crawl", "old.py", "-O", "items.jsonl", *options, *FAST, cwd=folder)
    assert done.returncode == code, done.stderr
    items = read_items(folder / "items.jsonl") if code == 0 else []
    return {item["path"]: item for item in items}, done.stdout + done.stderr


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_in_thread(Pages()) as served:
        yield served


@pytest.mark.long
def test_the_same_items_as_in_scrapy(tmp_path: Path, site: Site) -> None:
    """Of middlewares in every form: sync, async and Deferred, with and without the spider as an argument."""
    file = tmp_path / "shop.py"
    file.write_text(scrapy_middlewares.SPIDER)
    theirs = run_scrapy(file, "-s", "RETRY_TIMES=2", url=site.url)
    assert len(theirs) == 18
    assert run_gossamer(file, url=site.url) == theirs


@pytest.mark.long
@pytest.mark.parametrize("processes", ["1", "2"])
def test_middlewares_of_older_scrapy(tmp_path: Path, site: Site, processes: str) -> None:
    """Scrapy 2.19 refuses them; retries of their own are the only ones where the built-in is turned off."""
    options = ("-a", f"url={site.url}", "--processes", processes, "-s", "robots=false")
    found, said = crawl_old(tmp_path, scrapy_middlewares.OLD, *options)
    assert {item["old"] for item in found.values()} == {"old"}
    assert found["/busy"]["seen"] == ["late503", "late503", "late200", "early200"]
    assert found["/target"]["seen"] == ["late200", "early200"], "a redirect is a request of its own"
    assert set(found) == {"/busy", "/target", "/fine"}
    assert {hit.headers["user-agent"] for hit in site.hits} == {"one"}
    assert {hit.headers.get("x-start") for hit in site.hits} == {"yes"}
    assert site.log.count_paths()["/busy"] == 3
    assert "HttpProxyMiddleware: Gossamer does the work of Scrapy's own middlewares itself" in said
    verdicts = rows(tmp_path / ".gossamer", "select verdict, status from attempt where url like '%/busy'")
    assert sorted(verdicts) == [("redirect", 503), ("redirect", 503), ("success", 200)]


def test_a_proxy_that_a_middleware_chooses(tmp_path: Path, site: Site) -> None:
    """Its password goes to the proxy, and is kept nowhere."""
    with serve_in_thread(Pages()) as proxy:
        options = ("-a", "url=http://shop.example", "-a", f"proxy={proxy.url}")
        log = ("-s", "log.level=debug", "-s", "log.file=log")
        found, said = crawl_old(tmp_path, scrapy_middlewares.OLD, *options, *log)
    assert set(found) == {"/busy", "/target", "/fine"}
    assert not site.hits
    assert {hit.headers.get("proxy-authorization") for hit in proxy.hits} == {
        "Basic bWU6Y2FuYXJ5cHJveHk3ZDFm"
    }
    assert "http://shop.example/robots.txt" in proxy.log.count_paths()
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            assert PASSWORD.encode() not in file.read_bytes(), file
    assert PASSWORD not in said


def test_what_is_tried_again_is_not_shown_below_the_retries(tmp_path: Path, site: Site) -> None:
    """With Scrapy's retries on, the host's own back-off is what tries again."""
    text = scrapy_middlewares.OLD.replace('"scrapy.downloadermiddlewares.retry.RetryMiddleware": None,', "")
    text = text.replace('"old.PatientRetry": 550,', "")
    found, _ = crawl_old(tmp_path, text, "-a", f"url={site.url}", "-s", "retry_backoff=0.01")
    assert found["/busy"]["seen"] == ["late200", "early200"], "each try is a request of its own to them"
    assert found["/busy"]["log"] == [["late", 503], ["late", 503], ["late", 200], ["early", 200]]
    verdicts = rows(tmp_path / ".gossamer", "select verdict from attempt where url like '%/busy'")
    assert sorted(verdicts) == [("retry",), ("retry",), ("success",)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("old.Early", "old.Missing", "DOWNLOADER_MIDDLEWARES names old.Missing"),
        ("old.OldSpiderMiddleware", "nowhere.At", "SPIDER_MIDDLEWARES cannot be read: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_made_is_said_at_once(
    tmp_path: Path, site: Site, old: str, new: str, told: str
) -> None:
    text = scrapy_middlewares.OLD.replace(f'"{old}"', f'"{new}"')
    _, said = crawl_old(tmp_path, text, "-a", f"url={site.url}", code=2)
    assert told in said
    assert not site.hits


def test_robots_txt_passes_requests_alone(tmp_path: Path, site: Site) -> None:
    """A middleware that knows pages only would close the site, where Scrapy takes a failure for a yes."""
    text = scrapy_middlewares.OLD.replace(
        "    def process_request(self, request, spider):\n        if spider.proxy",
        "    def process_request(self, request, spider):\n"
        "        if 'robots' in request.url:\n            raise scrapy.exceptions.IgnoreRequest()\n"
        "        if spider.proxy",
    )
    found, _ = crawl_old(tmp_path, text, "-a", f"url={site.url}")
    assert set(found) == {"/busy", "/target", "/fine"}
    assert site.log.count_paths()["/robots.txt"] == 1
