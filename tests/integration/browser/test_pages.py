"""Pages in a real Chromium, from a server on this machine."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.fetch.browser.fetcher import BrowserFetcher
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

SCRIPTED = (
    "<!doctype html><html><body><p id=a></p><script>a.textContent = 'price: 5 \\u20ac'</script></body></html>"
)
ANSWERS = {
    "/scripted": answer(SCRIPTED, "X-Kind: shop", kind="text/html; charset=iso-8859-1"),
    "/missing": answer("<p>nothing here</p>", status="404 Not Found"),
    "/moved": answer("", "Location: /scripted", status="302 Found"),
    "/refreshes": answer("<meta http-equiv=refresh content='0; url=/scripted?refreshed'>"),
    "/busy-host": answer("", "Retry-After: 7", status="429 Too Many Requests"),
    "/short": answer("<p>short</p>").replace(b"Content-Length: 12", b"Content-Length: 99"),
    "/junk": answer("<p>junk</p>", "Content-Encoding: gzip"),
    "/leaves": answer("<script>location.href = '/scripted?from=script'</script>"),
    "/robots.txt": answer("User-agent: *\nDisallow: /x\n", kind="text/plain"),
    "/data": answer(gzip.compress(b'{"a": "\xc3\xa9"}'), "Content-Encoding: gzip", kind="application/json"),
    "/file": answer(bytes(range(256)) * 4000, "Content-Disposition: attachment", kind="text/html"),
    "/large": answer(b"x" * 3_000_000, kind="application/octet-stream"),
    "/nothing": answer("", status="204 No Content"),
    "/images": answer(
        "<img src=/picture.png><video src=/film.mp4></video><p style='background:url(/b.png)'>x"
    ),
    "/busy": answer("<script>for (;;) {}</script>"),
    "/alerts": answer("<p>alerts</p><script>for (let n = 0; n < 20; n++) alert(n)</script>"),
    "/windows": answer("<p>windows</p><script>for (let n = 0; n < 20; n++) open('/scripted?' + n)</script>"),
    "/restless": answer(
        "<p>restless</p><script>setInterval(() => { fetch('/poll'); alert('still here'); }, 5)</script>"
    ),
    "/poll": answer(b"x" * 50_000),
    "/frames": answer("<iframe src='file:///etc/passwd'></iframe><iframe src='/scripted'></iframe>"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=20, max_body_bytes=2_000_000) as fetcher:
        yield fetcher


@asynccontextmanager
async def open_closing_site() -> AsyncIterator[str]:
    """A server that hangs up after each answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWERS[head.split()[1].decode()])
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def fault_of(fetcher: BrowserFetcher, url: str) -> Fault:
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(url))
    assert caught.value.rung == "browser"
    return caught.value.fault


async def test_html_is_the_page_after_its_scripts(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        page = await fetcher.fetch(Request(f"{site.url}/scripted"))
    assert (page.status, page.rung, page.address) == (200, "browser", "127.0.0.1")
    assert '<p id="a">price: 5 €</p>' in page.body.decode()
    assert page.header("content-type") == "text/html; charset=utf-8", "the body is written anew"
    assert page.header("x-kind") == "shop"
    assert page.wire_bytes > len(SCRIPTED)
    assert 0 < page.latency_s <= page.elapsed_s


async def test_the_browser_says_who_it_is_and_sends_what_a_request_has(fetcher: BrowserFetcher) -> None:
    async with Raw({"/": answer("<p>x</p>")}) as site:
        await fetcher.fetch(Request(f"{site.url}/"))
        own = {"User-Agent": "mine", "X-Mine": "yes", "Cookie": "a=b"}
        await fetcher.fetch(Request(f"{site.url}/?post", method="POST", body=b"q=1", headers=own))
        await fetcher.fetch(Request(f"{site.url}/"), Route(rung="browser", profile="chrome"))
    plain, post, browsers = (head.decode().lower() for head in site.heads)
    assert "user-agent: gossamer-test\r\n" in plain
    assert "user-agent: mozilla/5.0 (x11; linux x86_64) " in browsers
    for head in (plain, browsers):
        assert "headless" not in head
        assert 'sec-ch-ua-platform: "linux"\r\n' in head
    assert post.startswith("post /?post ")
    for line in ("user-agent: mine", "x-mine: yes", "cookie: a=b", "content-length: 3"):
        assert f"{line}\r\n" in post


async def test_redirects_are_returned_and_not_followed(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        moved = await fetcher.fetch(Request(f"{site.url}/moved"))
        left = await fetcher.fetch(Request(f"{site.url}/leaves"))
        refreshed = await fetcher.fetch(Request(f"{site.url}/refreshes"))
        assert len(site.heads) == 3
    assert (moved.status, moved.header("location"), moved.flags) == (302, "/scripted", ())
    assert (left.status, left.flags) == (302, ("script_redirect",))
    assert (refreshed.status, refreshed.header("location")) == (302, f"{site.url}/scripted?refreshed")
    assert left.header("location") == f"{site.url}/scripted?from=script"


async def test_what_is_not_html_comes_as_it_is(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        pages = [
            await fetcher.fetch(Request(f"{site.url}{path}"))
            for path in ("/robots.txt", "/data", "/file", "/nothing", "/missing")
        ]
        assert await fault_of(fetcher, f"{site.url}/large") is Fault.TOO_LARGE
    robots, data, file, nothing, missing = pages
    assert robots.body == b"User-agent: *\nDisallow: /x\n"
    assert data.body == b'{"a": "\xc3\xa9"}'
    assert file.body == bytes(range(256)) * 4000
    assert (nothing.status, nothing.body) == (204, b"")
    assert missing.status == 404
    assert b"<p>nothing here</p>" in missing.body


async def test_answers_that_are_no_whole_pages(fetcher: BrowserFetcher) -> None:
    async with open_closing_site() as url:
        assert await fault_of(fetcher, f"{url}/short") is Fault.INCOMPLETE
        assert await fault_of(fetcher, f"{url}/junk") is Fault.BAD_ENCODING
        busy = await fetcher.fetch(Request(f"{url}/busy-host"))
    assert (busy.status, busy.body, busy.header("retry-after")) == (429, b"", "7")


async def test_kinds_of_resources_are_blocked(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        await fetcher.fetch(Request(f"{site.url}/images"))
        assert [head.split()[1] for head in site.heads] == [b"/images"]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("http://127.0.0.2:9/", Fault.GUARD),
        ("http://[::1]:8000/", Fault.GUARD),
        ("http://0x7f.1:8000/", Fault.GUARD),
        ("http://[::ffff:127.0.0.1]:8000/", Fault.GUARD),
        ("http://169.254.169.254/latest/meta-data/", Fault.GUARD),
        ("http://a.invalid/", Fault.DNS),
        ("http://127.0.0.1:2/", Fault.CONNECT),
        ("http://127.0.0.1:99999/", Fault.BAD_URL),
    ],
)
async def test_where_no_page_is(fetcher: BrowserFetcher, place: str, fault: Fault) -> None:
    assert await fault_of(fetcher, place) is fault


async def test_no_request_of_a_page_reaches_a_private_address(fetcher: BrowserFetcher) -> None:
    """The page is at localhost, which is named; what it asks for at 127.0.0.2 is not, by whatever way."""
    async with Raw({}, "127.0.0.2") as inside, Raw({}) as site:
        private = inside.url
        socket = private.replace("http", "ws")
        site.answers["/"] = answer(
            f"<iframe src='{private}/frame'></iframe><link rel=stylesheet href='{private}/style'>"
            f"<script src='{private}/script'></script><script>fetch('{private}/fetch', {{mode: 'no-cors'}})"
            f".catch(() => document.title = 'refused'); new WebSocket('{socket}/socket');"
            f"fetch('/there').catch(() => 0); navigator.sendBeacon('{private}/beacon')</script>"
        )
        site.answers["/there"] = answer("", f"Location: {private}/redirected", status="302 Found")
        page = await fetcher.fetch(Request(f"{site.url}/"))
    assert page.status == 200
    assert inside.connections == 0


async def test_dialogs_windows_and_files_do_no_harm(fetcher: BrowserFetcher) -> None:
    async with Raw(ANSWERS) as site:
        for path in ("alerts", "windows"):
            page = await fetcher.fetch(Request(f"{site.url}/{path}"))
            assert f"<p>{path}</p>" in page.body.decode()
        assert b"root:" not in (await fetcher.fetch(Request(f"{site.url}/frames"))).body
        assert not [head for head in site.heads if b"/scripted?" in head], "windows are not opened"


@pytest.mark.thorough
async def test_nothing_of_a_page_is_counted_for_the_next_one() -> None:
    async with open_fetcher(tabs=1, timeout_s=20) as fetcher, Raw(ANSWERS) as site:
        for _ in range(3):
            await fetcher.fetch(Request(f"{site.url}/restless"))
            page = await fetcher.fetch(Request(f"{site.url}/scripted"))
            assert (page.status, b"price: 5" in page.body) == (200, True)
            assert page.wire_bytes < 2 * len(ANSWERS["/scripted"])
        polls = sum(b"/poll" in head for head in site.heads)
        assert polls > 0, "the last page was at work"
        await fetcher.fetch(Request(f"{site.url}/missing"))
        assert sum(b"/poll" in head for head in site.heads) <= polls + 1, "one that was under way"


@pytest.mark.long
async def test_a_stealthy_browser_does_not_tell_that_it_is_driven() -> None:
    told = "<p id=a></p><script>a.textContent = `${navigator.webdriver} ${navigator.userAgent}`</script>"
    answers = {"/": answer(told), "/moved": ANSWERS["/moved"]}
    async with open_fetcher(is_stealthy=True, is_open=False, timeout_s=20) as fetcher, Raw(answers) as site:
        page = (await fetcher.fetch(Request(f"{site.url}/"))).body.decode()
        moved = await fetcher.fetch(Request(f"{site.url}/moved"))
    assert '<p id="a">false Mozilla/5.0 (X11; Linux x86_64)' in page
    assert "Headless" not in page
    assert moved.status == 302


@pytest.mark.thorough
async def test_a_page_without_end_is_too_large() -> None:
    async def pour(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"<p>more</p>" * 1000)
            await writer.drain()

    async with open_fetcher(timeout_s=60, max_body_bytes=1_000_000) as fetcher, Raw({"/": pour}) as site:
        assert await fault_of(fetcher, f"{site.url}/") is Fault.TOO_LARGE


@pytest.mark.thorough
async def test_a_page_that_never_ends_ends_in_time() -> None:
    async with open_fetcher(timeout_s=3) as fetcher, Raw(ANSWERS) as site:
        busy = asyncio.ensure_future(fault_of(fetcher, f"{site.url}/busy"))
        assert await busy is Fault.TIMEOUT_BODY
        page = await fetcher.fetch(Request(f"{site.url}/nothing"))
        assert page.status == 204
