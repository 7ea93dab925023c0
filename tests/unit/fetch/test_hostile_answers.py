"""What hostile answers may cost: memory when many are large at once, time when few bytes become many."""

from __future__ import annotations

import asyncio
import zlib

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.codings import PIECE_BYTES
from gossamer.fetch.http.decode import BodyDecoder
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.memory_budget import LARGE_BYTES
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from kit.raw_server import OK, Raw, fetcher_with


def test_decoding_pauses_after_each_piece() -> None:
    decoder = BodyDecoder("deflate", 100_000_000)
    sizes = [decoder.decoded_bytes for _ in decoder.feed_in_steps(zlib.compress(bytes(20 * PIECE_BYTES)))]
    assert len(sizes) >= 20
    assert all(after - before <= PIECE_BYTES for before, after in zip([0, *sizes], sizes, strict=False))
    assert decoder.finish_body() == (bytes(20 * PIECE_BYTES), ())


@pytest.mark.parametrize("name", ["endless_body", "hundred_megabytes_unannounced"])
async def test_large_bodies_wait_for_each_other(name: str) -> None:
    """With room for one of them, eight at once all come to their end."""
    async with BadSite() as site:
        options = HttpOptions(max_body_bytes=2_000_000, large_bodies_bytes=1_000_000)
        fetcher = HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))
        fetches = [fetcher.fetch(Request(site.url(f"{name}/{number}"))) for number in range(8)]
        ends = await asyncio.gather(*fetches, return_exceptions=True)
        assert [end.fault for end in ends if isinstance(end, FetchError)] == [Fault.TOO_LARGE] * 8
        assert (await fetcher.fetch(Request(site.url("good")))).status == 200
        await fetcher.close()


async def test_bodies_that_wait_are_no_slower_for_it() -> None:
    """The time in which a body must arrive does not run while nobody reads it."""
    async with BadSite() as site:
        options = HttpOptions(
            max_body_bytes=4_000_000, large_bodies_bytes=600_000, idle_s=0.3, body_s=0.6, headers_s=5.0
        )
        fetcher = HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))
        fetches = [fetcher.fetch(Request(site.url(f"giant_urls/{number}"))) for number in range(20)]
        ends = await asyncio.gather(*fetches)
        assert len({len(end.body) for end in ends}) == 1
        await fetcher.close()


# --------------------------------------------------------------------------- one connection, several requests

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"


async def test_a_body_that_ends_while_it_waits_for_room_leaves_a_connection_that_reads() -> None:
    held = asyncio.Event()

    async def first(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + bytes(700_000))
        await held.wait()
        writer.write(bytes(200_000))

    size = LARGE_BYTES + 10
    second = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)
    async with Raw({"/first": first, "/second": second}) as server:
        fetcher = fetcher_with(large_bodies_bytes=600_000)
        waiting = asyncio.create_task(fetcher.fetch(Request(f"{server.url}/first")))
        await asyncio.sleep(0.1)
        assert len((await fetcher.fetch(Request(f"{server.url}/second"))).body) == size
        assert (await fetcher.fetch(Request(f"{server.url}/third"))).body == b"ok"
        assert server.connections == 2
        held.set()
        assert len((await waiting).body) == 900_000
        await fetcher.close()


@pytest.mark.parametrize("start", [CHUNKED + b"0\r\nX: ", CHUNKED + b"0\r\n", CHUNKED + b"2;a="])
async def test_what_is_no_body_has_a_bound_too(start: bytes) -> None:
    """Trailers and chunks' extensions without end: neither memory nor the whole time of a body."""
    line = b"x: y\r\n" if start.endswith(b"0\r\n") else b"x"

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        for _ in range(200):
            writer.write(line * (65_536 // len(line)))
            await writer.drain()

    async with Raw({"/": endless}) as server:
        fetcher = fetcher_with()
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(f"{server.url}/"))
        assert caught.value.fault is Fault.TOO_LARGE
        await fetcher.close()


@pytest.mark.parametrize(
    "more", [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", b"HTT", b"\r\n\r\nH", b"\0"]
)
async def test_bytes_that_nobody_asked_for_reach_no_other_request(more: bytes) -> None:
    async with Raw({"/": OK + more}) as server:
        fetcher = fetcher_with()
        for path in ("/", "/next"):
            assert (await fetcher.fetch(Request(server.url + path))).body == b"ok"
        assert server.connections == 2
        await fetcher.close()


async def test_a_status_that_is_none() -> None:
    async with Raw({"/": OK.replace(b"200", b"000")}) as server:
        fetcher = fetcher_with()
        with pytest.raises(FetchError, match="status 0"):
            await fetcher.fetch(Request(f"{server.url}/"))
        await fetcher.close()


async def test_closing_ends_what_is_under_way() -> None:
    async def never(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.5)

    async with Raw({"/": never}) as server:
        fetcher = fetcher_with(headers_s=60.0)
        fetching = asyncio.create_task(fetcher.fetch(Request(f"{server.url}/")))
        await asyncio.sleep(0.1)
        await fetcher.close()
        with pytest.raises(FetchError):
            await asyncio.wait_for(fetching, 1)
        await fetcher.close()


async def test_the_length_of_a_body_is_said_once_and_by_us() -> None:
    async with Raw({}) as server:
        fetcher = fetcher_with()
        headers = {"content-length": "99", "Transfer-Encoding": "chunked", "X-Kept": "1"}
        await fetcher.fetch(Request(server.url, method="GET", headers=headers))
        await fetcher.fetch(Request(server.url, method="DELETE", body=b"", headers=headers))
        for head in server.heads:
            assert b"X-Kept: 1" in head
            assert b"ength" not in head
            assert b"hunked" not in head
        await fetcher.close()
