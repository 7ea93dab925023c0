"""A compressed body that is cut is never taken for a whole one, however its end is marked.

One that lacks only a part of its check sum is whole where HTTP says its end.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest

from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.codings import zstd
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.fetcher import try_fetch
from kit.raw_server import Raw, fetcher_with

PAGE = b"".join(b"<p>Paragraph %d, with %d words of its own.</p>\n" % (n, n * n) for n in range(400))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODINGS: dict[str, tuple[str, bytes]] = {
    "gzip": ("gzip", gzip.compress(PAGE)),
    "deflate": ("deflate", zlib.compress(PAGE)),
    "deflate without header": ("deflate", raw_deflate(PAGE)),
    "br": ("br", brotli.compress(PAGE)),
    "zstd": ("zstd", zstd.compress(PAGE)),
    "gzip in br": ("gzip, br", brotli.compress(gzip.compress(PAGE))),
}
ENDS: dict[str, Callable[[bytes, int], bytes]] = {
    "close": lambda body, _: b"Connection: close\r\n\r\n" + body,
    "length": lambda body, _: b"Content-Length: %d\r\n\r\n%s" % (len(body), body),
    "chunked": lambda body, _: b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "too short a length": lambda body, whole: b"Content-Length: %d\r\n\r\n%s" % (whole, body),
    "no last chunk": lambda body, _: b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body),
}
BROKEN = ("too short a length", "no last chunk")


def impersonating() -> Fetcher:
    return ImpersonatingFetcher(HttpOptions(), clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))


def say(answer: bytes) -> Callable[[asyncio.StreamWriter], object]:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    return write


@pytest.mark.parametrize("make", [fetcher_with, impersonating], ids=["http", "impersonate"])
@pytest.mark.parametrize("missing", [1, 9, 200])
async def test_a_cut_body_is_a_part_or_a_failure(make: Callable[[], Fetcher], missing: int) -> None:
    """A few bytes are missing of the check sum, of the last block or of the page."""
    answers = {
        f"/{number}": say(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n" % coding.encode()
            + ENDS[end](body[:-missing], len(body))
        )
        for number, (_, end, coding, body) in enumerate(cases())
    }
    fetcher, found = make(), {}
    async with Raw(answers) as server:
        for number, (name, end, _, _) in enumerate(cases()):
            got = await try_fetch(fetcher, Request(f"{server.url}/{number}"))
            if isinstance(got, FetchResult):
                assert PAGE.startswith(got.body)
            found[name, end] = got.flags if isinstance(got, FetchResult) else got
    await fetcher.close()
    wanted = {(name, end): Fault.INCOMPLETE if end in BROKEN else (TRUNCATED,) for name, end, _, _ in cases()}
    if missing == 1:  # HTTP says that this is all, and the last block is there
        has_all = {(name, end) for name in ("gzip", "deflate") for end in ("length", "chunked")}
        wanted.update(dict.fromkeys(has_all, ("bad_checksum",)))
    assert found == wanted


def cases() -> list[tuple[str, str, str, bytes]]:
    return [(name, end, coding, body) for name, (coding, body) in CODINGS.items() for end in ENDS]
