"""What went over the wire is kept with the result when somebody asks for it, and never otherwise."""

from __future__ import annotations

import asyncio
import gzip
import socket
from typing import Any

import pytest

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RawExchange
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.misbehaviour import PAGE


async def fetch(url: str, **options: Any) -> FetchResult:
    guard = AddressGuard({"127.0.0.1"})
    fetcher = HttpFetcher(HttpOptions(user_agent="raw", **options), clock=ManualClock(), guard=guard)
    try:
        return await fetcher.fetch(Request(url, headers={"Cookie": "secret=1"}))
    finally:
        await fetcher.close()


async def exchange_of(name: str) -> tuple[FetchResult, RawExchange]:
    async with BadSite() as site:
        fetched = await fetch(site.url(name), keeps_exchanges=True)
    assert fetched.raw is not None
    return fetched, fetched.raw


async def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    async with BadSite() as site:
        assert (await fetch(site.url("good"))).raw is None


async def test_both_headers_are_as_they_were_sent() -> None:
    fetched, raw = await exchange_of("good")
    assert raw.request_header.startswith(b"GET /good HTTP/1.1\r\nHost: 127.0.0.1")
    assert b"\r\nCookie: secret=1\r\n" in raw.request_header
    assert raw.request_header.endswith(b"\r\n\r\n")
    assert raw.response_header.startswith(b"HTTP/1.1 200")
    assert raw.response_header.endswith(b"\r\n\r\n")
    assert raw.body == fetched.body == PAGE
    assert "secret" not in repr(fetched), "credentials are in no log"


async def test_the_body_is_as_it_came() -> None:
    fetched, raw = await exchange_of("gzipped")
    assert fetched.body == PAGE
    assert gzip.decompress(raw.body) == PAGE
    assert len(raw.body) == fetched.wire_bytes
    assert PAGE not in raw.response_header


async def test_chunks_are_put_together() -> None:
    fetched, raw = await exchange_of("chunked")
    assert raw.body == fetched.body == PAGE
    assert b"chunked" in raw.response_header.lower()


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
async def test_informational_responses_stand_before_the_header(end: bytes) -> None:
    hints = [b"HTTP/1.1 103 Early Hints", b"Link: </a>", b""]
    header = end.join([*hints, b"HTTP/1.1 200 OK", b"Content-Length: 4", b"", b""])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(header + b"\n\n\n\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, family=socket.AF_INET)
    async with server:
        port = server.sockets[0].getsockname()[1]
        fetched = await fetch(f"http://127.0.0.1:{port}/", keeps_exchanges=True)
    assert fetched.raw is not None
    assert (fetched.raw.response_header, fetched.raw.body) == (header, b"\n\n\n\n")
