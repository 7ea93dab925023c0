"""What is read of a page when it stands still: its address, and all of its tree that a visitor sees."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.browsing import Browsing, Click
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.spiders.response import Response
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

PUSH = "<a href=rel>on</a><button onclick=\"history.pushState({}, '', '%s')\">go</button>"
MOVES = {
    "absolute path": ("/shop/list", PUSH % "/deep/er", "/deep/er", "/deep/rel"),
    "relative path": ("/shop/list", PUSH % "more/item", "/shop/more/item", "/shop/more/rel"),
    "query": ("/shop/list", PUSH % "?page=2", "/shop/list?page=2", "/shop/rel"),
    "fragment": ("/shop/list", PUSH % "#part", "/shop/list", "/shop/rel"),
    "path and fragment": ("/shop/list", PUSH % "/a/b#part", "/a/b", "/a/rel"),
    "base element": ("/shop/list", "<base href=/base/>" + PUSH % "/deep/er", "/deep/er", "/base/rel"),
    "replaced while it loads": (
        "/shop/list?from=mail",
        "<a href=rel>on</a><script>history.replaceState({}, '', '/clean/')</script>",
        "/clean/",
        "/clean/rel",
    ),
    "as the browser writes it": ("/a%7eb/./c", "<a href=rel>on</a>", "/a%7eb/./c", "/a%7eb/rel"),
}
"""A page at a path; the path of ``response.url`` in the end, and that of its link."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chromium", "firefox"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=20, max_body_bytes=2_000_000, kind=request.param) as fetcher:
        yield fetcher


async def show(fetcher: BrowserFetcher, url: str, browsing: Browsing | None = None) -> Response:
    request = Request(url, fetch="browser", browser=browsing)
    fetched: FetchResult = await fetcher.fetch(request)
    assert fetched.failure is None
    return Response(request, fetched)


@pytest.mark.parametrize("move", MOVES)
async def test_the_url_of_a_page_is_that_of_its_document_when_it_is_read(
    fetcher: BrowserFetcher, move: str
) -> None:
    path, body, shown, link = MOVES[move]
    async with Raw({path.replace("/./", "/"): answer(body)}) as site:
        clicks = Browsing(actions=[Click("button")]) if "button" in body else None
        response = await show(fetcher, site.url + path, clicks)
        assert (response.url, response.links()) == (site.url + shown, [site.url + link])
