"""The browser fetcher does on a page what its request and its spider want."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gossamer import Browsing, Click, Press, Request, Spider, Type, Wait
from gossamer.callbacks.page_scripts import SpiderGuide
from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.testing.site import Site, serve
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw
from kit.scripted_site import ScriptedSite

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]
PNG = b"\x89PNG\r\n\x1a\n"


class Shop(Spider):
    name = "shop"
    browser = {"parse_list": Browsing(wait_for=".price", capture=["*/api/*"]), "parse_robots": Browsing()}

    async def open_more(self, page: Any) -> None:
        await page.click("#more")

    async def closes(self, page: Any) -> None:
        await page.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[BrowserFetcher]:
    spider = Shop()
    async with open_fetcher(guide=SpiderGuide(lambda _: spider), timeout_s=20) as fetcher:
        yield fetcher


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve(ScriptedSite()) as served:
        yield served


@pytest.mark.long
async def test_the_spiders_word_for_a_callback(fetcher: BrowserFetcher, site: Site) -> None:
    page = await fetcher.fetch(Request(f"{site.url}/shop", "parse_list"))
    assert page.body.count(b'class="price"') == 3
    assert [got.json()["page"] for got in page.captured] == ["1"]
    assert (page.failure, page.screenshot, page.flags) == (None, b"", ())
    plain = await fetcher.fetch(Request(f"{site.url}/shop"))
    assert plain.captured == ()


async def test_a_page_that_lacks_what_was_awaited_comes_with_its_failure(
    fetcher: BrowserFetcher, site: Site
) -> None:
    browsing = Browsing(wait_for=".gone", step_timeout_s=0.3)
    page = await fetcher.fetch(Request(f"{site.url}/shop", browser=browsing))
    assert page.failure is not None
    assert page.failure.fault is Fault.MISSING
    assert (page.status, page.screenshot[:8]) == (200, PNG)
    assert b"<title>Shop</title>" in page.body


async def test_a_form_leads_to_its_page_also_by_a_redirect(fetcher: BrowserFetcher, site: Site) -> None:
    actions = [Type("#q", "lamp"), Press("Enter"), Wait("h1")]
    page = await fetcher.fetch(Request(f"{site.url}/form", browser=Browsing(actions=actions)))
    assert (page.status, page.url) == (200, f"{site.url}/found?q=lamp")
    assert b"Found lamp" in page.body
    posted = Browsing(actions=[Click("#post"), Wait("h1")])
    page = await fetcher.fetch(Request(f"{site.url}/form", browser=posted))
    assert (page.status, page.url, page.failure) == (200, f"{site.url}/next", None)


async def test_the_next_page_in_the_same_tab_knows_nothing_of_it(fetcher: BrowserFetcher, site: Site) -> None:
    closing = Browsing(script="closes")
    page = await fetcher.fetch(Request(f"{site.url}/shop", browser=closing))
    assert page.failure is not None
    assert page.failure.detail == "closes() closed its page"
    for _ in range(2):
        more = Browsing(wait_for="#more", script="open_more")
        page = await fetcher.fetch(Request(f"{site.url}/shop", browser=more))
        assert page.body.count(b'class="product"') == 4
        assert page.captured == ()


PARTS = """<p class=now>now</p><p class=late hidden>late</p><p class=never hidden>never</p>
<p class=invisible style="visibility: hidden">invisible</p><p class=flat style="height: 0"></p>
<div id=host></div><script>
setTimeout(() => document.getElementsByClassName('late')[0].hidden = false, 200);
document.getElementById('host').attachShadow({mode: 'open'}).innerHTML = '<b class=inner>inner</b>';
document.querySelector = () => document.body;
</script>"""


@pytest.mark.parametrize(
    ("selector", "failure"),
    [
        (".now", ""),
        (".late", ""),
        ("text=late", ""),
        ("p:has-text('late')", ""),
        ("//p[@class='now']", ""),
        (".inner", ""),
        (".never", "it is there, but cannot be used after 1.5 s"),
        (".invisible", "it is there, but cannot be used after 1.5 s"),
        (".flat", "it is there, but cannot be used after 1.5 s"),
        (".nowhere", "no such element after 1.5 s"),
        ("p[", "Unexpected token"),
    ],
)
async def test_what_a_page_waits_for(fetcher: BrowserFetcher, selector: str, failure: str) -> None:
    async with Raw({"/": answer(PARTS)}) as site:
        browsing = Browsing(wait_for=selector, step_timeout_s=1.5)
        page = await fetcher.fetch(Request(f"{site.url}/", browser=browsing))
    said = page.failure.detail if page.failure else ""
    assert (failure in said) if failure else not said


@pytest.mark.thorough
async def test_a_page_that_takes_too_long_has_its_picture(site: Site) -> None:
    async with open_fetcher(timeout_s=2) as fetcher:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(f"{site.url}/hangs"))
    assert caught.value.fault is Fault.TIMEOUT_BODY
    assert caught.value.screenshot.startswith(PNG)
