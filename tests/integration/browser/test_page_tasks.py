"""What happens on a page between its loading and its content, in a real Chromium."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from playwright.async_api import Browser, Page, async_playwright

from gossamer import Browsing, Click, Press, Request, Screenshot, Scroll, Spider, Type, Wait
from gossamer.callbacks.page_scripts import SpiderGuide
from gossamer.core.errors import Fault
from gossamer.fetch.browser.task import PageTask, TaskOptions, TaskReport
from gossamer.testing.site import Site, serve
from kit.scripted_site import FEED_ITEMS, ScriptedSite

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        await found.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve(ScriptedSite()) as served:
        yield served


class Scripted(Spider):
    name = "scripted"

    async def open_more(self, page: Page) -> None:
        await page.click("#more")

    async def fails(self, page: Page) -> None:
        await page.click("#nothing", timeout=50)

    async def closes(self, page: Page) -> None:
        await page.close()


class Visit:
    """A page on which a task was done."""

    def __init__(self, page: Page, report: TaskReport) -> None:
        self.page = page
        self.report = report

    @property
    def detail(self) -> str:
        assert self.report.failure is not None
        return self.report.failure.detail


async def see_nothing(_selector: str, _wait_s: float) -> bool:
    return False


@asynccontextmanager
async def visiting(
    browser: Browser, url: str, browsing: Browsing, *, time_s: float = 20.0, **options: Any
) -> AsyncIterator[Visit]:
    """Open a page as the fetcher does, and do what is to be done there."""
    page = await browser.new_page(viewport={"width": 800, "height": 600})
    guide = SpiderGuide(lambda _: Scripted())
    task = PageTask(Request(url, browser=browsing), guide, TaskOptions(**options), random=Random(7))
    try:
        deadline = asyncio.get_running_loop().time() + time_s
        task.start(page)
        response = await page.goto(url, wait_until=task.load_state)
        await task.perform(deadline, see_nothing)
        yield Visit(page, await task.finish(deadline, response.status if response else 0))
    finally:
        task.stop()
        await page.close()


async def test_a_page_made_by_a_script_is_waited_for(browser: Browser, site: Site) -> None:
    async with visiting(browser, f"{site.url}/shop", Browsing(wait_for=".price")) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.locator(".price").all_inner_texts() == ["1.50", "2.50", "3.50"]
    async with visiting(browser, f"{site.url}/shop", Browsing(wait_until="networkidle")) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.locator(".price").count() == 3
    async with visiting(browser, f"{site.url}/shop", Browsing(wait_s=0.5)) as visit:
        assert await visit.page.locator(".price").count() == 3


@pytest.mark.parametrize(
    ("path", "selector", "human"),
    [
        ("/feed", "", False),
        pytest.param("/boxed", "#box", False, marks=pytest.mark.thorough),
        pytest.param("/boxed", "#box", True, marks=pytest.mark.thorough),
    ],
)
async def test_an_endless_list_is_scrolled_to_its_end(
    browser: Browser, site: Site, path: str, selector: str, human: bool
) -> None:
    scroll = Scroll(until_still=True, still_s=0.3, selector=selector, human=human)
    async with visiting(browser, site.url + path, Browsing(actions=[scroll])) as visit:
        assert visit.report == TaskReport()
        items = await visit.page.locator("li").all_inner_texts()
        assert items == [f"item {n}" for n in range(FEED_ITEMS)]


@pytest.mark.thorough
async def test_a_page_that_grows_for_ever_has_an_end_and_a_flag(browser: Browser, site: Site) -> None:
    browsing = Browsing(actions=[Scroll(until_still=True, max_scrolls=4, still_s=0.3)])
    async with visiting(browser, f"{site.url}/endless", browsing) as visit:
        assert visit.report == TaskReport(flags=("scroll_limit",))
        assert 4 <= await visit.page.locator("p").count() < 12


async def test_a_form_is_typed_into_and_sent(browser: Browser, site: Site) -> None:
    actions = [Type("#q", "lamp & co"), Press("Enter"), Wait("h1")]
    async with visiting(browser, f"{site.url}/form", Browsing(actions=actions)) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.inner_text("h1") == "Found lamp & co"
    actions = [Click("#c"), Click("button")]
    async with visiting(browser, f"{site.url}/form", Browsing(actions=actions)) as visit:
        assert visit.page.url == f"{site.url}/found?q=old&c=on"


@pytest.mark.thorough
async def test_a_person_types_and_points_with_a_rhythm(browser: Browser, site: Site) -> None:
    browsing = Browsing(actions=[Type("#q", "blue lamp é"), Click("#c")], human=True)
    async with visiting(browser, f"{site.url}/form", browsing) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.input_value("#q") == "blue lamp é"
        assert await visit.page.is_checked("#c")
        keys = await visit.page.evaluate("keys")
        moves = await visit.page.evaluate("moves")
    assert all(is_trusted for _, _, is_trusted in keys)
    names = [key for key, _, _ in keys]
    keys = keys[names.index("Backspace") :]  # what the field held goes first
    typed = [(key, at) for key, at, _ in keys if len(key) == 1]
    assert "".join(key for key, _ in typed) == "blue lamp "
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(typed)]
    assert all(gap >= 55 for gap in gaps), "a key is held, and a pause follows"
    assert max(gaps) > 1.2 * min(gaps), "no two are alike"
    assert len(moves) > 15
    assert len({round(y) for _, y, _ in moves}) > 5


@pytest.mark.parametrize(
    ("browsing", "fault", "words"),
    [
        (Browsing(wait_for=".gone"), Fault.MISSING, "wait_for '.gone': no such element after 0.3 s"),
        (
            Browsing(actions=[Press("Tab"), Click(".gone")]),
            Fault.MISSING,
            "action 2, click '.gone': no such element after 0.3 s",
        ),
        (
            Browsing(actions=[Press("Tab"), Click("title")]),
            Fault.MISSING,
            "click 'title': it is there, but cannot be used after 0.3 s",
        ),
        (Browsing(actions=[Click("a[")]), Fault.CALLBACK, "action 1, click 'a[': "),
        (
            Browsing(actions=[Press("Enterr")]),
            Fault.CALLBACK,
            'press Enterr: Keyboard.press: Unknown key: "Enterr"',
        ),
        (Browsing(script="fails"), Fault.CALLBACK, 'waiting for locator("#nothing")'),
        (Browsing(script="closes"), Fault.CALLBACK, "closes() closed its page"),
        (Browsing(script="unknown"), Fault.CALLBACK, "Scripted has no method `async def unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_step_that_fails_is_named(
    browser: Browser, site: Site, browsing: Browsing, fault: Fault, words: str
) -> None:
    short = replace(browsing, step_timeout_s=0.3)
    async with visiting(browser, f"{site.url}/form", short, screenshots="never") as visit:
        assert visit.report.failure is not None
        assert visit.report.failure.fault is fault
        assert words in visit.detail
        assert visit.report.screenshot == b""


@pytest.mark.thorough
async def test_all_steps_together_end_with_the_time_of_the_page(browser: Browser, site: Site) -> None:
    browsing = Browsing(actions=[Wait(seconds=0.05), Wait(seconds=3600)])
    async with visiting(browser, f"{site.url}/shop", browsing, time_s=1.5) as visit:
        assert visit.detail == "action 2, wait: the time of the page (browser.timeout) was over"
    browsing = Browsing(actions=[Type("#q", "long " * 100, human=True)])
    async with visiting(browser, f"{site.url}/form", browsing, time_s=0.6) as visit:
        assert "browser.timeout" in visit.detail


async def test_an_optional_click_is_passed_over(browser: Browser, site: Site) -> None:
    actions = [Click("#cookies", optional=True), Wait("#more"), Click("#more", optional=True)]
    async with visiting(browser, f"{site.url}/shop", Browsing(actions=actions)) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.locator(".product").count() == 4


async def test_the_spiders_own_function_gets_the_page(browser: Browser, site: Site) -> None:
    browsing = Browsing(wait_for="#more", script="open_more")
    async with visiting(browser, f"{site.url}/shop", browsing) as visit:
        assert visit.report == TaskReport()
        assert await visit.page.locator(".product").count() == 4


async def test_what_the_page_requests_is_captured(browser: Browser, site: Site) -> None:
    async with visiting(
        browser, f"{site.url}/shop", Browsing(capture=["*/api/*"], wait_for=".price")
    ) as visit:
        (got,) = visit.report.captured
        assert (got.url, got.status, got.is_cut) == (f"{site.url}/api/products?page=1", 200, False)
        assert got.content_type == "application/json"
        assert [product["name"] for product in got.json()["products"]] == ["Lamp 1", "Lamp 2", "Lamp 3"]
        assert visit.report.flags == ()
    scroll = Scroll(until_still=True, still_s=0.3)
    async with visiting(
        browser, f"{site.url}/feed", Browsing(capture=["*/feed?*"], actions=[scroll])
    ) as visit:
        names = [name for got in visit.report.captured for name in got.json()["items"]]
        assert names == [f"item {n}" for n in range(FEED_ITEMS)]  # in their order, and not the page itself


async def test_what_is_captured_is_bounded_and_says_so(browser: Browser, site: Site) -> None:
    fetching = Browsing(capture=["*/api/*"], wait_for=".price")
    async with visiting(browser, f"{site.url}/shop", fetching, max_capture_bytes=50) as visit:
        (got,) = visit.report.captured
        assert (got.is_cut, got.body) == (True, b"")
        assert visit.report.flags == ("capture_limit",)


@pytest.mark.long
async def test_pictures(browser: Browser, site: Site) -> None:
    async with visiting(browser, f"{site.url}/shop", Browsing(actions=[Screenshot()])) as visit:
        assert visit.report.screenshot.startswith(PNG)
    async with visiting(
        browser, f"{site.url}/endless", Browsing(actions=[Screenshot(full_page=True)])
    ) as visit:
        assert int.from_bytes(visit.report.screenshot[20:24], "big") > 3000  # pixels of height
    async with visiting(browser, f"{site.url}/shop", Browsing(), screenshots="always") as visit:
        assert visit.report.screenshot.startswith(PNG)
    async with visiting(browser, f"{site.url}/shop", Browsing()) as visit:
        assert visit.report.screenshot == b""
    async with visiting(browser, f"{site.url}/refused", Browsing()) as visit:
        assert visit.report.screenshot.startswith(PNG)
    async with visiting(browser, f"{site.url}/shop", Browsing(wait_for="x", step_timeout_s=0.1)) as visit:
        assert visit.report.screenshot.startswith(PNG)


async def test_a_page_that_is_gone_is_not_the_spiders_fault(browser: Browser, site: Site) -> None:
    page = await browser.new_page()
    browsing = Browsing(wait_for=".gone")
    task = PageTask(Request(f"{site.url}/shop", browser=browsing), None, TaskOptions(), random=Random(1))
    task.start(page)
    await page.goto(f"{site.url}/shop")
    asyncio.get_running_loop().call_later(0.2, lambda: closing.append(asyncio.ensure_future(page.close())))
    closing: list[asyncio.Future[None]] = []
    with pytest.raises(Exception, match="has been closed"):
        await task.perform(asyncio.get_running_loop().time() + 5, see_nothing)
    await closing[0]
