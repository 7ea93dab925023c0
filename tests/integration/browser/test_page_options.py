"""Options of a page that are for pages which need them: conditions, dialogs, windows that a click opens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.browsing import Browsing, Click, Pdf, Wait
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

SITE = {
    "/": answer(
        "<p id=said></p><script>setTimeout(() => { window.app = {ready: true}; said.textContent = 'ready' },"
        "300)</script>",
        "Content-Security-Policy: script-src 'unsafe-inline'",
    ),
    "/asks": answer(
        "<p id=said></p><script>alert('first'); said.textContent = [confirm('old enough?'),"
        "prompt('name', 'Ann')]</script>"
    ),
    "/opens": answer(
        "<a id=link href=/opened target=_blank>a</a>"
        "<a id=rel rel=noopener target=new href=/opened><b>b</b></a>"
        "<button id=script onclick=\"open('/opened', 'w', 'width=300')\">c</button>"
        "<button id=later onclick=\"const w = window.open('');"
        "setTimeout(() => { w.location = '/opened' }, 50)\">d</button>"
        "<form target=_blank action=/opened><button id=form>e</button></form>"
        "<form action=/opened><button id=own formtarget=_blank>f</button></form>"
        "<a id=moved href=/moved target=_blank>g</a>"
    ),
    "/opened": answer("<h1>opened</h1>"),
    "/opened?": answer("<h1>opened</h1>"),
    "/moved": answer("", "Location: /opened", status="302 Found"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chromium", "firefox"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(kind=request.param, timeout_s=20) as fetcher:
        yield fetcher


def said_by(body: bytes) -> str:
    found = re.search('<p id="said">(.*?)</p>', body.decode())
    return found[1] if found else ""


@pytest.mark.long
async def test_a_condition_of_javascript_is_waited_for(fetcher: BrowserFetcher) -> None:
    async with Raw(SITE) as site:
        ready = Browsing(actions=[Wait(condition="app.ready && document.title === ''")])
        page = await fetcher.fetch(Request(f"{site.url}/", browser=ready))
        assert (page.failure, said_by(page.body)) == (None, "ready")
        for condition, words in {
            "app.never": "action 1, wait for 'app.never': it was not true after 0.6 s",
            "no.such": "it was not true after 0.6 s",
            "(": "action 1, wait for '(': ",
        }.items():
            never = Browsing(actions=[Wait(condition=condition)], step_timeout_s=0.6)
            page = await fetcher.fetch(Request(f"{site.url}/", browser=never))
            assert page.failure is not None
            assert words in page.failure.detail


async def test_a_page_is_printed(fetcher: BrowserFetcher) -> None:
    async with Raw(SITE) as site:
        page = await fetcher.fetch(Request(f"{site.url}/opened", browser=Browsing(actions=[Pdf()])))
        assert page.failure is None
        assert page.pdf.startswith(b"%PDF-")


async def test_dialogs_are_accepted_where_a_page_says_so(fetcher: BrowserFetcher) -> None:
    async with Raw(SITE) as site:
        page = await fetcher.fetch(Request(f"{site.url}/asks", browser=Browsing(dialogs="accept")))
        assert said_by(page.body) == "true,Ann"
        page = await fetcher.fetch(Request(f"{site.url}/asks"))
        assert said_by(page.body) == "false,", "not the next page"


@pytest.mark.parametrize("by", ["link", "rel", "script", "later", "form", "own", "moved"])
async def test_the_window_that_a_click_opens_is_the_page(fetcher: BrowserFetcher, by: str) -> None:
    async with Raw(SITE) as site:
        follow = Browsing(actions=[Click(f"#{by}", popup=True), Wait("h1")])
        page = await fetcher.fetch(Request(f"{site.url}/opens", browser=follow))
        assert page.failure is None
        assert b"<h1>opened</h1>" in page.body
        assert page.url.rstrip("?") == f"{site.url}/opened"
        if by == "link":
            stay = Browsing(actions=[Click("#link")])
            page = await fetcher.fetch(Request(f"{site.url}/opens", browser=stay))
            assert page.url == f"{site.url}/opens", "without the option it is closed"
