"""A site whose pages are for members: a form, a cookie that it sets, and redirects to the form without it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from gossamer.testing.site import SiteResponse

PAGES = 40
MOVED = 5
"""Pages that also have an old address, which redirects to the new one."""

SPIDER = """
from gossamer import Request, Spider


class Members(Spider):
    name = "members"
    start_urls = ["{start}/login"]
    allowed_domains = ["{domain}"]

    def parse(self, response):
        yield Request(response.urljoin("/session"), self.parse_list, method="POST", body=b"user=me")

    def parse_list(self, response):
        yield from response.follow_all(css="a", callback=self.parse_page)

    def parse_page(self, response):
        yield {"page": response.css("h1::text").get()}
"""


def spider_file(folder: Path, start: str) -> Path:
    """A spider that logs in once, at its start."""
    file = folder / "members_spider.py"
    domain = start.partition("://")[2]
    file.write_text(SPIDER.replace("{start}", start).replace("{domain}", domain))
    return file


class Members:
    """The site. Every page also sets a cookie. ``refused`` are the pages requested without a log-in."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.refused: list[str] = []
        self.read: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path == "/login":
            return page("Who are you?")
        if path == "/session":
            return SiteResponse(303, headers=(("Location", "/list"), ("Set-Cookie", "sid=s3cret; Path=/")))
        if path == "/robots.txt":
            return SiteResponse(404)
        if "sid=s3cret" not in headers.get("cookie", ""):
            with self._lock:
                self.refused.append(path)
            return SiteResponse(302, headers=(("Location", "/login"),))
        if path == "/list":
            old = [f"/old/{number}" for number in range(MOVED)]
            return page("All", *(f"/page/{number}" for number in range(PAGES)), *old)
        if path.startswith("/old/"):
            return SiteResponse(301, headers=(("Location", path.replace("/old/", "/page/")),))
        with self._lock:
            self.read.add(path)
        last = ("Set-Cookie", f"last={path.rpartition('/')[2]}; Path=/; Max-Age=3600")
        return SiteResponse(200, page(path).body, headers=(last,), delay_s=self.delay_s)


def page(title: str, *links: str) -> SiteResponse:
    """A small page."""
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
    return SiteResponse(200, f"<html><body><h1>{title}</h1>{anchors}</body></html>".encode())
