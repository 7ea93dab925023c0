"""Pages in a real Firefox: what Gossamer promises of browsers, where Firefox is asked in another way."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import time
from collections.abc import AsyncIterator
from glob import glob

import pytest
import pytest_asyncio
from msgspec.structs import replace

from gossamer.core.browsing import Browsing, Click
from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.processes import find_processes
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.testing.badsite import BadSite
from gossamer.testing.contracts import fetcher as contract
from integration.browser.test_browser_contract import OWN_WAYS, SHORT, ShownPages
from kit.browser_pages import answer, choose_checks, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

BYTES = bytes(range(256)) * 4000
WORDS = "Grüße für 5 €"
ANSWERS = {
    "/scripted": answer(
        "<p id=a></p><script>a.textContent = navigator.userAgent; document.cookie = 'k=v'</script>"
    ),
    "/moved": answer("", "Location: /scripted", status="302 Found"),
    "/leaves": answer("<script>location.href = '/scripted?from=script'</script>"),
    "/robots.txt": answer("User-agent: *\nDisallow: /x\n", kind="text/plain"),
    "/file": answer(BYTES, "Content-Disposition: attachment", kind="text/html"),
    "/large": answer(b"x" * 5_000_000, kind="application/octet-stream"),
    "/grows": answer("<body><script>document.body.append('x'.repeat(3e7))</script>"),
    "/nothing": answer("", status="204 No Content"),
    "/link": answer("<a href=/moved>on</a>"),
    "/to-a-file": answer("", "Location: file:///etc/passwd", status="302 Found"),
    "/link-to-a-file": answer("<a href=/to-a-file>on</a>"),
    "/asks-whether-to-stay": answer(
        "<a href=/scripted>on</a><script>addEventListener('beforeunload', event => event.preventDefault())"
        "</script>"
    ),
    "/hungry": answer(
        "<script>const kept = []; setInterval(() => kept.push(new Uint8Array(4e7).fill(7)), 50)</script>"
        "<script src=/never></script>"
    ),
    "/windows": answer("<p>windows</p><script>for (let n = 0; n < 9; n++) open('/scripted?' + n)</script>"),
}
OWN_WAYS_OF_FIREFOX = OWN_WAYS | {
    "cookies": "a request's own Cookie header is not sent",
    "misbehaviour_two_lengths": "it says of this, too, that the content is corrupted",
    "misbehaviour_giant_header": "it reads them; what a tab may read is bounded",
}
"""As of Chromium, and what Firefox decides for itself in addition."""


@pytest.fixture(scope="module")
def jar() -> CookieJar:
    return CookieJar(100)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher(jar: CookieJar) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(jar, kind="firefox", timeout_s=20, max_body_bytes=4_000_000) as fetcher:
        yield fetcher
        folder = folder_of(fetcher)
    assert await asyncio.to_thread(find_processes, folder) == [], "no process outlives its fetcher"
    assert not await asyncio.to_thread(os.path.exists, folder)


def folder_of(fetcher: BrowserFetcher) -> str:
    folder = fetcher._pool._driver._folder
    assert folder is not None
    return folder.path


async def sleep_long(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def fault_of(fetcher: BrowserFetcher, url: str) -> Fault:
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(url))
    return caught.value.fault


@pytest.mark.long
async def test_scripts_run_and_redirects_are_returned(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        shown = await fetcher.fetch(Request(f"{site.url}/scripted"))
        moved = await fetcher.fetch(Request(f"{site.url}/moved"))
        left = await fetcher.fetch(Request(f"{site.url}/leaves"))
        windows = await fetcher.fetch(Request(f"{site.url}/windows"))
        paths = [head.split()[1] for head in site.heads]
    assert b'<p id="a">gossamer-test</p>' in shown.body
    assert (moved.status, moved.header("location"), moved.flags) == (302, "/scripted", ())
    assert (left.status, left.flags) == (302, ("script_redirect",))
    assert b"windows" in windows.body
    assert paths == [b"/scripted", b"/moved", b"/leaves", b"/windows"]


@pytest.mark.thorough
async def test_what_is_not_html_comes_as_it_is(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        robots = await fetcher.fetch(Request(f"{site.url}/robots.txt"))
        file = await fetcher.fetch(Request(f"{site.url}/file"))
        nothing = await fetcher.fetch(Request(f"{site.url}/nothing"))
        assert await fault_of(fetcher, f"{site.url}/large") is Fault.TOO_LARGE
        assert await fault_of(fetcher, f"{site.url}/grows") is Fault.TOO_LARGE
    assert robots.body == b"User-agent: *\nDisallow: /x\n"
    assert file.body == BYTES
    assert (nothing.status, nothing.body) == (204, b"")


@pytest.mark.thorough
async def test_a_click_that_is_redirected_leads_to_the_page(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        request = Request(f"{site.url}/link", browser=Browsing(actions=[Click("a")], wait_s=0.1))
        page = await fetcher.fetch(request)
    assert (page.url, page.status) == (f"{site.url}/scripted", 200)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("text/plain", WORDS.encode("utf-16")),
        ("text/plain; charset=windows-1252", WORDS.encode("cp1252")),
        ("application/json", b'\xef\xbb\xbf{"a": 1}'),
        ("application/xml", '<?xml version="1.0" encoding="shift_jis"?><a>日本</a>'.encode("shift_jis")),
        ("application/octet-stream", WORDS.encode()),
        ("text/csv", WORDS.encode("utf-16")),
    ],
)
async def test_bytes_are_those_that_were_sent(fetcher: BrowserFetcher, kind: str, data: bytes) -> None:
    zipped = answer(gzip.compress(data), "Content-Encoding: gzip", kind=kind)
    async with Raw({"/plain": answer(data, kind=kind), "/zipped": zipped}) as site:
        plain = await fetcher.fetch(Request(f"{site.url}/plain"))
        unzipped = await fetcher.fetch(Request(f"{site.url}/zipped"))
    assert (plain.body, plain.header("content-type")) == (data, kind)
    assert unzipped.body == data.removeprefix(b"\xef\xbb\xbf")


async def test_so_are_those_of_what_the_page_requests(fetcher: BrowserFetcher) -> None:
    data = '{"a": "Grüße"}'.encode("utf-16")
    asks = "<script>fetch('/api').then(got => got.text()).then(text => document.body.append(text))</script>"
    async with Raw({"/": answer(asks), "/api": answer(data, kind="application/json")}) as site:
        browsing = Browsing(wait_for="text=a", capture=["*/api"])
        page = await fetcher.fetch(Request(f"{site.url}/", browser=browsing))
    assert [got.body for got in page.captured] == [data]


async def test_what_was_saved_is_removed_when_it_was_read(fetcher: BrowserFetcher) -> None:
    kinds = ("application/octet-stream", "application/pdf", "text/csv", "application/x-nobody-knows")
    async with Raw({f"/{n}": answer(BYTES, kind=kind) for n, kind in enumerate(kinds)}) as site:
        for n in range(len(kinds)):
            assert (await fetcher.fetch(Request(f"{site.url}/{n}"))).body == BYTES
    for _ in range(100):
        left = await asyncio.to_thread(glob, f"{folder_of(fetcher)}/playwright-artifacts-*/[0-3]*")
        if not left:
            break
        await asyncio.sleep(0.1)
    assert left == []


@pytest.mark.thorough
async def test_an_answer_that_firefox_does_not_hand_over_is_too_large() -> None:
    large = answer(b"x" * 21_000_000, kind="text/plain")
    async with Raw({"/": large}) as site, open_fetcher(kind="firefox", timeout_s=30) as fetcher:
        assert await fault_of(fetcher, f"{site.url}/") is Fault.TOO_LARGE


async def test_a_click_never_leads_to_this_machines_files(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        request = Request(f"{site.url}/link-to-a-file", browser=Browsing(actions=[Click("a")], wait_s=0.5))
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(request)
    assert caught.value.fault is Fault.BAD_REDIRECT


async def test_a_page_cannot_keep_its_visitor(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        clicked = Browsing(actions=[Click("a")], wait_s=0.3)
        page = await fetcher.fetch(Request(f"{site.url}/asks-whether-to-stay", browser=clicked))
    assert page.url == f"{site.url}/scripted"


@pytest.mark.thorough
async def test_a_page_that_eats_memory_is_ended_and_the_browser_stays() -> None:
    options = {"kind": "firefox", "timeout_s": 60, "max_memory_bytes": 500 << 20}
    async with Raw({**ANSWERS, "/never": sleep_long}) as site, open_fetcher(**options) as fetcher:
        await fetcher.fetch(Request(f"{site.url}/scripted"))
        (browser,) = fetcher._pool._all
        assert await fault_of(fetcher, f"{site.url}/hungry") is Fault.PAGE_CRASH
        assert (await fetcher.fetch(Request(f"{site.url}/scripted"))).status == 200
        assert fetcher._pool._all == {browser}


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("http://127.0.0.2:9/", Fault.GUARD),
        ("http://127.0.0.2:8000/", Fault.GUARD),
        ("http://a.invalid/", Fault.DNS),
        ("http://127.0.0.1:2/", Fault.CONNECT),
    ],
)
async def test_where_no_page_is(fetcher: BrowserFetcher, place: str, fault: Fault) -> None:
    assert await fault_of(fetcher, place) is fault


async def test_no_request_of_a_page_reaches_a_private_address(fetcher: BrowserFetcher) -> None:
    async with Raw({}, "127.0.0.2") as inside, Raw({}) as site:
        there = inside.url.removeprefix("http://")
        site.answers["/"] = answer(
            f"<link rel=preconnect href='http://{there}'><link rel=prefetch href='http://{there}/prefetched'>"
            f"<iframe src='http://{there}/frame'></iframe><script src='http://{there}/script'></script>"
            f"<script>fetch('http://{there}/fetch').catch(() => 0); new WebSocket('ws://{there}/socket');"
            f"new Worker(URL.createObjectURL(new Blob([\"fetch('http://{there}/worker')\"])))</script>"
        )
        await fetcher.fetch(Request(f"{site.url}/"))
        assert not inside.connections


@pytest.mark.thorough
async def test_tabs_may_be_opened_side_by_side() -> None:
    async with Raw(ANSWERS) as site, open_fetcher(kind="firefox", timeout_s=30) as fetcher:
        for turn in range(2):
            wanted = [Request(f"{site.url}/scripted", session=f"{turn}-{n}") for n in range(4)]
            pages = await asyncio.gather(*map(fetcher.fetch, wanted))
            assert [page.status for page in pages] == [200] * 4


@pytest.mark.thorough
async def test_cookies_come_and_go(fetcher: BrowserFetcher, jar: CookieJar) -> None:
    async with Raw(ANSWERS) as site:
        url = f"{site.url}/scripted"
        await fetcher.fetch(Request(url, session="s"))
        (kept,) = jar.list_cookies("s", url, time.time())
        jar.keep_cookies("s", url, [replace(kept, name="other")], time.time())
        await fetcher.fetch(Request(url, session="s"))
    assert (kept.name, kept.value) == ("k", "v")
    assert b"other=v" in site.heads[-1]


@pytest.mark.thorough
async def test_a_killed_firefox_is_replaced() -> None:
    async with Raw(ANSWERS) as site, open_fetcher(kind="firefox", timeout_s=20) as fetcher:
        await fetcher.fetch(Request(f"{site.url}/scripted"))
        folder = folder_of(fetcher)
        main = next(one for one in find_processes(folder) if b"--profile" in one.command)
        os.kill(main.pid, signal.SIGKILL)
        faults = set()
        for _ in range(3):  # the first may still get a tab of the one that is gone
            try:
                assert (await fetcher.fetch(Request(f"{site.url}/scripted"))).status == 200
                break
            except FetchError as error:
                faults.add(error.fault)
        assert faults <= {Fault.BROWSER}
        await fetcher.close()
        assert await asyncio.to_thread(find_processes, folder) == []


@pytest.mark.long
@pytest.mark.parametrize("name", choose_checks(OWN_WAYS_OF_FIREFOX, SHORT[2:3]))
async def test_the_contract(fetcher: BrowserFetcher, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "PATIENCE_S", 40.0)
    async with BadSite() as site:
        await contract.FETCHER_CHECKS[name](ShownPages(fetcher), site)
