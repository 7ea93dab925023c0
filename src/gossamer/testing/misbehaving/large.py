"""Answers that are larger than they look: endless ones, bombs, floods."""

from __future__ import annotations

import gzip
import zlib
from functools import lru_cache

import brotli  # type: ignore[import-untyped]

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import OPEN, RouteVisit, route

MEGABYTE = 1024 * 1024
BOMB_BYTES = 64 * MEGABYTE
MILLION = 1_000_000


@lru_cache(maxsize=1)
def gzip_of_zeros() -> bytes:
    """A bomb that costs its maker nothing: one member over and over."""
    return gzip.compress(bytes(MEGABYTE)) * (BOMB_BYTES // MEGABYTE)


@lru_cache(maxsize=1)
def _nested_gzip() -> bytes:
    return gzip.compress(gzip_of_zeros())


@lru_cache(maxsize=1)
def _deflate_of_zeros() -> bytes:
    return zlib.compress(bytes(BOMB_BYTES), 1)


@lru_cache(maxsize=1)
def _brotli_of_zeros() -> bytes:
    packed: bytes = brotli.compress(bytes(BOMB_BYTES), quality=1)
    return packed


@route("endless_body", "A body without length or end, as fast as it is taken.", Fault.TOO_LARGE, row=3)
async def _endless_body(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}\r\n".encode())
    while True:
        await visit.send_bytes(b"x" * 65536)


@route("announced_giant", "A Content-Length of a terabyte.", Fault.TOO_LARGE, row=7)
async def _announced_giant(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}Content-Length: 1000000000000\r\n\r\n".encode() + b"x" * 1000)
    await visit.stall()


@route("gzip_bomb", "A few kilobytes of gzip that become 64 MiB.", Fault.TOO_LARGE, row=8)
async def _gzip_bomb(visit: RouteVisit) -> None:
    await visit.send_response(gzip_of_zeros(), headers="Content-Encoding: gzip\r\n")


@route("deflate_bomb", "64 KiB of deflate that become 64 MiB.", Fault.TOO_LARGE, row=8)
async def _deflate_bomb(visit: RouteVisit) -> None:
    await visit.send_response(_deflate_of_zeros(), headers="Content-Encoding: deflate\r\n")


@route("nested_bomb", "A bomb packed twice: gzip in gzip.", Fault.TOO_LARGE, row=8)
async def _nested_bomb(visit: RouteVisit) -> None:
    await visit.send_response(_nested_gzip(), headers="Content-Encoding: gzip, gzip\r\n")


@route("br_bomb", "A few hundred bytes of brotli that become 64 MiB.", Fault.TOO_LARGE, row=8)
async def _br_bomb(visit: RouteVisit) -> None:
    await visit.send_response(_brotli_of_zeros(), headers="Content-Encoding: br\r\n")


@route("zstd_bomb", "A few kilobytes of zstd that become 64 MiB.", Fault.TOO_LARGE, row=8)
async def _zstd_bomb(visit: RouteVisit) -> None:
    # Frames of one RLE block each (RFC 8878, 3.1.1.2.2): 128 KiB of one byte in 13 bytes.
    frame = (
        b"\x28\xb5\x2f\xfd"
        + b"\xa0"
        + (131072).to_bytes(4, "little")
        + (131072 << 3 | 3).to_bytes(3, "little")
    )
    await visit.send_response((frame + b"\0") * (BOMB_BYTES // 131072), headers="Content-Encoding: zstd\r\n")


@route("empty_members", "100,000 empty gzip members: much work, no bytes.", 200, Fault.BAD_ENCODING, row=9)
async def _empty_members(visit: RouteVisit) -> None:
    await visit.send_response(gzip.compress(b"") * 100_000, headers="Content-Encoding: gzip\r\n")


@route("bomb_on_404", "A bomb as the body of an error.", Fault.TOO_LARGE, row=8)
async def _bomb_on_404(visit: RouteVisit) -> None:
    body = gzip_of_zeros()
    await visit.send_response(body, status="404 Not Found", headers="Content-Encoding: gzip\r\n")


@route("tiny_chunks", "A body in 10,000 chunks of one byte.", 200, row=5)
async def _tiny_chunks(visit: RouteVisit) -> None:
    visit.keep_alive = True
    head = OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send_bytes(head.encode() + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n")


@route(
    "million_chunks",
    "A body in 1,000,000 chunks of one byte.",
    Fault.TOO_LARGE,
    Fault.TIMEOUT_BODY,
    row=5,
    ends=Fault.TOO_LARGE,
)
async def _million_chunks(visit: RouteVisit) -> None:
    visit.keep_alive = True
    await visit.send_header("Transfer-Encoding: chunked\r\n")
    for _ in range(100):
        await visit.send_bytes(b"1\r\nx\r\n" * (MILLION // 100))
    await visit.send_bytes(b"0\r\n\r\n")


@route("hundred_megabytes", "An honest body of 100 MB, with its length.", Fault.TOO_LARGE, row=7)
async def _hundred_megabytes(visit: RouteVisit) -> None:
    await visit.send_header(f"Content-Length: {100 * MILLION}\r\n")
    for _ in range(100):
        await visit.send_bytes(b"x" * MILLION)


@route("hundred_megabytes_unannounced", "100 MB in chunks of 1 MB.", Fault.TOO_LARGE, row=7)
async def _hundred_megabytes_unannounced(visit: RouteVisit) -> None:
    await visit.send_header("Transfer-Encoding: chunked\r\n")
    for _ in range(100):
        await visit.send_bytes(b"%x\r\n%s\r\n" % (MILLION, b"x" * MILLION))
    await visit.send_bytes(b"0\r\n\r\n")
