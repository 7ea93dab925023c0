"""The cache gives what another crawl got, and keeps only what would be the same again."""

from __future__ import annotations

from math import inf

import pytest

from gossamer.core.browsing import Browsing
from gossamer.core.errors import BlobMissingError
from gossamer.core.hooks import HOOK_RUNG
from gossamer.core.requests import Request
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.cached import CACHE_JOB, CachedFetcher
from gossamer.testing.answers import SiteResponse
from gossamer.testing.archive import MemoryArchive
from gossamer.testing.clock import ManualClock
from gossamer.testing.fetcher import SiteFetcher

HOST = "http://a.example"
CHALLENGE = b"<title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/x.js'></script>"
ANSWERS = {
    "/page": SiteResponse(body=b"<p>page</p>"),
    "/moved": SiteResponse(301, headers=(("location", "/page"),)),
    "/gone": SiteResponse(404),
    "/tastes": SiteResponse(302, headers=(("location", "/page"), ("set-cookie", "taste=sweet"))),
    "/robots.txt": SiteResponse(body=b"User-agent: *", content_type="text/plain"),
    "/busy": SiteResponse(503),
    "/broken": SiteResponse(500),
    "/refused": SiteResponse(403, body=CHALLENGE),
    "/challenge": SiteResponse(200, body=CHALLENGE, headers=(("cf-mitigated", "challenge"),)),
}


class Crawls:
    """Crawls one after the other, which share a cache."""

    def __init__(self) -> None:
        self.archive = MemoryArchive()
        self.clock = ManualClock()
        self.site = SiteFetcher(lambda path, headers: ANSWERS[path], self.clock, latency_s=0.0)

    async def fetch(
        self,
        *requests: Request,
        max_age_s: float | None = None,
        began_at: float = inf,
        route: Route = DIRECT,
    ) -> list[tuple[int, bytes, str]]:
        """Status, body and rung of each answer in a crawl of its own."""
        writer = self.archive.open_writer(CACHE_JOB)
        more = {"max_age_s": max_age_s, "began_at": began_at}
        cached = CachedFetcher(self.site, self.archive, writer, self.clock, **more)
        found = [await cached.fetch(request, route) for request in requests]
        await cached.close()
        assert not any(each.archived for each in found), "its place in the cache is not one in an archive"
        return [(each.status, each.body, each.rung) for each in found]


@pytest.mark.parametrize("path", ["/page", "/moved", "/gone", "/robots.txt"])
async def test_what_would_be_the_same_again_is_asked_for_once(path: str) -> None:
    crawls = Crawls()
    (first,), (second,) = [await crawls.fetch(Request(HOST + path)) for _ in range(2)]
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == ("http", "archive")
    assert len(crawls.site.hits) == 1


@pytest.mark.parametrize("path", ["/busy", "/broken", "/refused", "/challenge"])
async def test_failures_and_refusals_are_not_kept(path: str) -> None:
    """Else a spider would be written against the page of a firewall, and a site stay down for ever."""
    crawls = Crawls()
    for _ in range(2):
        assert (await crawls.fetch(Request(HOST + path)))[0][2] == "http"


@pytest.mark.parametrize(
    "request_",
    [
        Request(f"{HOST}/page", method="POST", body=b"q=1"),
        Request(f"{HOST}/page", body=b"q=1"),
        Request(f"{HOST}/page", browser=Browsing()),
        Request(f"{HOST}/page", headers={"Accept": "application/json"}),
        Request(f"{HOST}/page", session="ann"),
    ],
    ids=["POST", "a body", "in a browser", "headers", "a session"],
)
async def test_other_requests_go_through_and_are_neither_kept_nor_answered(request_: Request) -> None:
    crawls = Crawls()
    await crawls.fetch(request_)
    await crawls.fetch(Request(f"{HOST}/page"))
    assert (await crawls.fetch(request_))[0][2] == "http"
    assert len(crawls.site.hits) == 3


async def test_what_plain_http_got_is_no_answer_for_a_browser() -> None:
    """A spider that is told to use a browser would go on seeing the page without its scripts."""
    crawls, page = Crawls(), Request(f"{HOST}/page")
    await crawls.fetch(page)
    assert (await crawls.fetch(page, route=Route(rung="browser")))[0][2] != "archive"
    assert (await crawls.fetch(page, route=Route(rung="http+dc")))[0][2] == "archive"


async def test_what_is_too_old_is_fetched_again_and_is_new_then() -> None:
    crawls, page = Crawls(), Request(f"{HOST}/page")
    await crawls.fetch(page, max_age_s=60.0)
    crawls.clock.advance(60.0)
    assert (await crawls.fetch(page, max_age_s=60.0))[0][2] == "archive"
    crawls.clock.advance(1.0)
    assert (await crawls.fetch(page, max_age_s=60.0))[0][2] == "http"
    assert (await crawls.fetch(page, max_age_s=60.0))[0][2] == "archive"


async def test_an_answer_with_cookies_is_fetched_again_by_the_crawl_that_lost_them() -> None:
    """Else the page behind it is refused: the process was killed before it stored them, and no cache does."""
    crawls, page, moved = Crawls(), Request(f"{HOST}/page"), Request(f"{HOST}/tastes")
    began_at = crawls.clock.now()
    await crawls.fetch(page, moved, began_at=began_at)
    crawls.clock.advance(5.0)
    again = await crawls.fetch(page, moved, began_at=began_at)
    assert [rung for _, _, rung in again] == ["archive", "http"]
    crawls.clock.advance(5.0)
    another = await crawls.fetch(page, moved, began_at=crawls.clock.now())
    assert [rung for _, _, rung in another] == ["archive", "archive"]


async def test_what_was_deleted_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    crawls, page = Crawls(), Request(f"{HOST}/page")
    await crawls.fetch(page)

    async def read_page(place: str) -> None:
        raise BlobMissingError(place)

    monkeypatch.setattr(crawls.archive, "read_page", read_page)
    assert (await crawls.fetch(page))[0][2] == "http"


async def test_what_a_hook_answers_is_asked_of_it_again() -> None:
    crawls = Crawls()
    crawls.site.rung = HOOK_RUNG
    for _ in range(2):
        ((_, _, rung),) = await crawls.fetch(Request(f"{HOST}/page"))
        assert rung == HOOK_RUNG
    assert len(crawls.site.hits) == 2
