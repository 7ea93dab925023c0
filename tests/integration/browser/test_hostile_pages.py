"""Pages and servers that mean harm, or break off, in a real Chromium."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer import Browsing
from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

ASKS_STUN = (
    "<script>const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:%d'}]});"
    "peer.createDataChannel('a'); peer.createOffer().then(offer => peer.setLocalDescription(offer));"
    "peer.onicegatheringstatechange = () => {"
    " if (peer.iceGatheringState === 'complete') document.body.append('gathered') };"
    "</script><body>"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=8, max_body_bytes=2_000_000) as fetcher:
        yield fetcher


class Datagrams(asyncio.DatagramProtocol):
    """Counts what comes by UDP."""

    def __init__(self) -> None:
        self.count = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.count += 1


@pytest.mark.long
async def test_nothing_goes_past_the_relay_by_udp(fetcher: BrowserFetcher) -> None:
    heard = Datagrams()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: heard, local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    async with Raw({"/": answer(ASKS_STUN % port)}) as site:
        browsing = Browsing(wait_for="text=gathered", step_timeout_s=2)
        page = await fetcher.fetch(Request(f"{site.url}/", browser=browsing))
    transport.close()
    assert b"</script>" in page.body
    assert heard.count == 0


async def test_a_length_that_is_no_number_of_bytes_ends_the_page_at_once(fetcher: BrowserFetcher) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"
    kinds = {"/shown": b"text/html", "/read": b"application/json"}
    async with Raw({path: head % kind + b"x" for path, kind in kinds.items()}) as site:
        for path in kinds:
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(Request(site.url + path))
            assert caught.value.fault in (Fault.TOO_LARGE, Fault.PROTOCOL), (path, caught.value)


@pytest.mark.thorough
async def test_a_captured_request_that_does_not_end_does_not_cost_the_page(fetcher: BrowserFetcher) -> None:
    async def hang(_: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    page = answer("<p>here</p><script>fetch('/api/slow')</script>")
    async with Raw({"/": page, "/api/slow": hang}) as site:
        browsing = Browsing(capture=["*/api/*"])
        result = await fetcher.fetch(Request(f"{site.url}/", browser=browsing))
    assert b"<p>here</p>" in result.body
    assert result.flags == ("capture_limit",)


CUT = {
    "/length": b"Content-Length: 1000\r\n\r\nUser-agent: *\n",
}


@pytest.mark.parametrize("path", CUT)
async def test_a_body_that_is_cut_short_is_no_body(fetcher: BrowserFetcher, path: str) -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + CUT[path])
        await writer.drain()
        writer.close()

    async with Raw({path: cut}) as site:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(site.url + path))
    assert caught.value.fault is Fault.INCOMPLETE


async def test_a_tree_that_is_too_large_stays_in_the_browser(fetcher: BrowserFetcher) -> None:
    grows = "<body hidden><script>document.body.append('x'.repeat(30_000_000))</script>"
    hides = "<script>Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'tiny'})</script>"
    async with Raw({"/": answer(grows + hides)}) as site:
        tracemalloc.start()
        try:
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(Request(f"{site.url}/"))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert caught.value.fault is Fault.TOO_LARGE
    assert peak < 10_000_000
