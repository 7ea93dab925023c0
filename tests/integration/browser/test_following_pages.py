"""A page that takes the place of the last one in its tab: what the last one does is not the next one's."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gossamer.core.browsing import Browsing
from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.browser import pool
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.navigation import Navigation
from gossamer.fetch.browser.processes import find_processes
from gossamer.fetch.browser.tab import BrowserTab
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server

LEAVING = "setInterval(() => location = '/trap', 1)"
STOPPING = "setInterval(() => window.stop(), 1)"
ASKING = "onbeforeunload = event => { event.preventDefault(); return 'stay'; }"
BUSY = "setTimeout(() => { for (;;); })"
BUSY_WHEN_ASKED = "onbeforeunload = () => { for (;;); }"
ANSWERS = {
    "/": answer("<p>page</p>"),
    "/next": answer("<p>next</p>"),
    "/polling": answer("<p>first</p><script>setInterval(() => fetch('/poll'), 5)</script>"),
    "/sending": answer("<script>location = '/trap'</script><p>sending</p>"),
    "/pushing": answer("<p>pushed</p><script>history.pushState({}, '', '/next')</script>"),
    "/poll": answer("<p>poll</p>"),
    "/trap": answer("<p>trap</p>"),
    "/pdf": answer("%PDF", kind="application/pdf"),
    "/moved": b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
}


@asynccontextmanager
async def one_tab() -> AsyncIterator[tuple[Raw, BrowserFetcher]]:
    async with Raw(dict(ANSWERS)) as site, open_fetcher(tabs=1, timeout_s=20) as fetcher:
        yield site, fetcher


@pytest.fixture(autouse=True)
def pages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is."""
    monkeypatch.setattr(pool, "_STAY_S", 60.0)


@pytest.fixture
def emptied(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a tab could be emptied, each time."""
    results: list[bool] = []
    empty = BrowserTab.empty

    async def note(tab: BrowserTab) -> bool:
        results.append(await empty(tab))
        return results[-1]

    monkeypatch.setattr(BrowserTab, "empty", note)
    return results


def idle_tab(fetcher: BrowserFetcher) -> BrowserTab:
    (browser,) = fetcher._pool._all
    (tab,) = browser.idle
    return tab


def asked(site: Raw, path: str) -> int:
    return sum(head.startswith(f"GET {path} ".encode()) for head in site.heads)


async def show(fetcher: BrowserFetcher, url: str, **options: object) -> str:
    return (await fetcher.fetch(Request(url, **options))).body.decode()  # type: ignore[arg-type]


@pytest.mark.thorough
async def test_the_next_page_of_a_site_takes_the_place_of_the_last(emptied: list[bool]) -> None:
    async with one_tab() as (site, fetcher):
        for path in ("/", "/next", "/", "/next"):
            page = await fetcher.fetch(Request(site.url + path))
            assert (b"next" in page.body) == (path == "/next")
            assert 0 < page.wire_bytes < 1000, "the bytes of this page alone"
        assert emptied == []
        assert not any(b"\r\nReferer:" in head for head in site.heads)
        assert not any(b"\r\nCache-Control:" in head for head in site.heads), "no reload"


@pytest.mark.long
@pytest.mark.parametrize(
    "script",
    [LEAVING, *(pytest.param(script, marks=pytest.mark.thorough) for script in (STOPPING, ASKING))],
    ids=["leaving", "stopping", "asking"],
)
async def test_a_page_keeps_nobody_from_going_elsewhere(script: str) -> None:
    async with one_tab() as (site, fetcher):
        for _ in range(5):
            await show(fetcher, f"{site.url}/")
            await idle_tab(fetcher).page.evaluate(script + "; 0")
            assert "next" in await show(fetcher, f"{site.url}/next")
        assert asked(site, "/trap") == 0
        assert 5 <= asked(site, "/next") <= 10


@pytest.mark.thorough
async def test_the_next_page_may_send_its_visitors_elsewhere_at_once() -> None:
    async with one_tab() as (site, fetcher):
        for _ in range(5):
            await show(fetcher, f"{site.url}/")
            page = await fetcher.fetch(Request(f"{site.url}/sending"))
            assert (page.status, dict(page.headers)["location"]) == (302, f"{site.url}/trap")


@pytest.mark.long
async def test_a_page_that_nobody_follows_is_ended(
    emptied: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_STAY_S", 0.3)
    async with one_tab() as (site, fetcher):
        await show(fetcher, f"{site.url}/polling")
        tab = idle_tab(fetcher)
        assert tab.has_page
        async with asyncio.timeout(20):
            while not emptied:  # noqa: ASYNC110 - the browser's own time
                await asyncio.sleep(0.02)
        assert emptied == [True]
        count = asked(site, "/poll")
        assert "next" in await show(fetcher, f"{site.url}/next")
        assert asked(site, "/poll") <= count + 1, "one that was under way"
        assert idle_tab(fetcher) is tab


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        pytest.param("/", "/", {}, marks=pytest.mark.thorough),
        pytest.param("/pushing", "/next", {}, marks=pytest.mark.thorough),
        ("/", "/next", {"browser": Browsing(capture=["*/poll"])}),
        pytest.param("/pdf", "/next", {}, marks=pytest.mark.thorough),
        pytest.param("/moved", "/next", {}, marks=pytest.mark.thorough),
        ("/", "/next", {"method": "POST"}),
    ],
    ids=["itself", "where it says it is", "one that captures", "after no page", "after a redirect", "a form"],
)
async def test_a_page_that_nothing_may_be_before_gets_an_empty_tab(
    emptied: list[bool], first: str, second: str, options: dict[str, object]
) -> None:
    async with one_tab() as (site, fetcher):
        await show(fetcher, site.url + first)
        assert "<p>" in await show(fetcher, site.url + second, **options)
        assert emptied == [True]
        assert sum(f" {second} ".encode() in head for head in site.heads) == (2 if first == second else 1)


@pytest.mark.long
async def test_a_page_of_another_origin_gets_an_empty_tab(emptied: list[bool]) -> None:
    async with one_tab() as (site, fetcher), Raw(dict(ANSWERS)) as other:
        await show(fetcher, f"{site.url}/polling")
        await show(fetcher, f"{other.url}/next")
        assert emptied == [True]


@pytest.mark.long
async def test_a_page_that_crashes_while_it_stays_is_nobodys_fault() -> None:
    async with one_tab() as (site, fetcher):
        await show(fetcher, f"{site.url}/")
        tab = idle_tab(fetcher)
        cdp = await tab.context.new_cdp_session(tab.page)
        crash = asyncio.ensure_future(cdp.send("Page.crash"))
        await asyncio.wait((tab.crash,))
        assert "next" in await show(fetcher, f"{site.url}/next")
        crash.cancel()


@pytest.mark.thorough
async def test_a_failure_is_not_pictured_with_the_page_before() -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 9\r\n\r\n%PDF")
        await asyncio.Event().wait()

    answers = {**ANSWERS, "/stalling": stall}
    async with Raw(answers) as site, open_fetcher(tabs=1, timeout_s=3) as fetcher:
        await show(fetcher, f"{site.url}/")
        with pytest.raises(FetchError) as caught:
            await show(fetcher, f"{site.url}/stalling")
        assert not caught.value.screenshot


@pytest.mark.long
@pytest.mark.parametrize(
    "script",
    [pytest.param(BUSY, marks=pytest.mark.thorough), BUSY_WHEN_ASKED],
    ids=["busy", "busy when asked"],
)
async def test_a_page_that_never_goes_is_not_the_next_ones_failure(script: str) -> None:
    async with one_tab() as (site, fetcher):
        await show(fetcher, f"{site.url}/")
        await idle_tab(fetcher).page.evaluate(script + "; 0")
        began_at = asyncio.get_running_loop().time()
        assert "next" in await show(fetcher, f"{site.url}/next")
        assert asyncio.get_running_loop().time() - began_at < 15


@pytest.mark.long
async def test_a_page_that_crashes_while_the_next_one_is_awaited_is_not_its_failure() -> None:
    async def kill_first(writer: asyncio.StreamWriter) -> None:
        (browser,) = fetcher._pool._all
        if asked(site, "/killing") == 1:
            for process in find_processes(browser.profile):
                if process.is_renderer:
                    os.kill(process.pid, signal.SIGKILL)
            await asyncio.Event().wait()
        writer.write(answer("<p>alive</p>"))

    async with one_tab() as (site, fetcher):
        site.answers["/killing"] = kill_first
        await show(fetcher, f"{site.url}/")
        assert "alive" in await show(fetcher, f"{site.url}/killing")
        assert asked(site, "/killing") == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "test",
    ["document.forms[0].submit()", pytest.param("location = location.href", marks=pytest.mark.thorough)],
)
async def test_a_page_that_is_shown_again_may_load_itself_again(test: str) -> None:
    loads = 0

    async def test_first(writer: asyncio.StreamWriter) -> None:
        nonlocal loads
        loads += 1
        form = f"<form method=post></form><script>{test}</script>"
        writer.write(answer(form if loads % 2 else "<p>passed</p>"))

    async with one_tab() as (site, fetcher):
        site.answers["/test"] = test_first
        for _ in range(2):
            assert "passed" in await show(fetcher, f"{site.url}/test")


@pytest.mark.long
async def test_a_page_with_a_fragment_follows_another_and_goes_where_it_wants() -> None:
    async with one_tab() as (site, fetcher):
        await show(fetcher, f"{site.url}/")
        page = await fetcher.fetch(Request(f"{site.url}/sending#part"))
        assert (page.status, dict(page.headers)["location"]) == (302, f"{site.url}/trap")


@pytest.mark.long
async def test_what_the_last_page_had_asked_for_is_not_the_next_ones_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_awaited, loads = asyncio.Event(), 0

    async def answer_late(writer: asyncio.StreamWriter) -> None:
        nonlocal loads
        loads += 1
        if loads > 1:
            await is_awaited.wait()
        writer.write(answer("<p>first</p>") if loads == 1 else ANSWERS["/moved"])

    open_page = BrowserTab.open_page

    async def open_late(tab: BrowserTab, navigation: Navigation) -> None:
        if loads > 1:
            is_awaited.set()
            await asyncio.sleep(0.3)  # until the answer is there
        await open_page(tab, navigation)

    monkeypatch.setattr(BrowserTab, "open_page", open_late)
    async with one_tab() as (site, fetcher):
        site.answers["/reloading"] = answer_late
        visit = fetcher._visit_page

        async def visit_and_reload(tab: BrowserTab, *rest: object) -> object:
            result = await visit(tab, *rest)  # type: ignore[arg-type]
            if loads == 1:
                await tab.page.evaluate("setTimeout(() => location.reload(), 1); 0")
                async with asyncio.timeout(10):
                    while loads == 1:  # noqa: ASYNC110 - the browser's own time
                        await asyncio.sleep(0.01)
            return result

        monkeypatch.setattr(fetcher, "_visit_page", visit_and_reload)
        await show(fetcher, f"{site.url}/reloading")
        assert "next" in await show(fetcher, f"{site.url}/next")


@pytest.mark.long
async def test_what_another_page_could_not_reach_is_not_why_a_page_does_not_come() -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with one_tab() as (site, fetcher):
        site.answers["/gone"] = hang_up
        await show(fetcher, f"{site.url}/")
        asking = "setInterval(() => fetch('http://10.1.2.3:81/').catch(() => 0), 3); 0"
        await idle_tab(fetcher).page.evaluate(asking)
        with pytest.raises(FetchError) as caught:
            await show(fetcher, f"{site.url}/gone")
        assert caught.value.fault is Fault.CONNECT


@pytest.mark.thorough
async def test_a_tab_has_as_many_worlds_for_its_tenth_page_as_for_its_first() -> None:
    async with one_tab() as (site, fetcher):
        counts: list[int] = []

        def note(_: object) -> None:
            counts[-1] += 1

        for path in ("/", "/next") * 5:
            await show(fetcher, site.url + path, browser=Browsing(wait_for="p"))
            tab = idle_tab(fetcher)
            counts.append(0)
            cdp = await tab.context.new_cdp_session(tab.page)
            cdp.on("Runtime.executionContextCreated", note)
            await cdp.send("Runtime.enable")
            await cdp.detach()
        assert counts[-1] == counts[0] > 0
