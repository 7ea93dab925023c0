"""Bodies that are not what their header says."""

from __future__ import annotations

import gzip

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import OPEN, PAGE, RouteVisit, route


@route("short_body", "The body ends before its Content-Length.", Fault.INCOMPLETE, row=4)
async def _short_body(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}Content-Length: 1000\r\n\r\n".encode() + PAGE)


@route("long_body", "The body continues after its Content-Length.", 200, row=4)
async def _long_body(visit: RouteVisit) -> None:
    visit.keep_alive = True
    await visit.send_bytes(f"{OPEN}Content-Length: {len(PAGE)}\r\n\r\n".encode() + PAGE + b"and more of it")


@route("two_answers", "A second response without a request, at once.", 200, row=4)
async def _two_answers(visit: RouteVisit) -> None:
    visit.keep_alive = True
    head = f"{OPEN}Content-Length: {len(PAGE)}\r\n\r\n".encode()
    await visit.send_bytes(head + PAGE + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")


@route("late_answer", "A second response without a request, when the connection is idle.", 200, row=4)
async def _late_answer(visit: RouteVisit) -> None:
    await visit.send_response(PAGE)
    await visit.pause()
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")


@route("truncated_chunked", "The chunks stop without a last one.", Fault.INCOMPLETE, row=5)
async def _truncated_chunked(visit: RouteVisit) -> None:
    head = OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send_bytes(head.encode() + b"%x\r\n%s\r\n" % (len(PAGE), PAGE))


@route("broken_chunked", "The size of a chunk is not a number.", Fault.INCOMPLETE, Fault.PROTOCOL, row=5)
async def _broken_chunked(visit: RouteVisit) -> None:
    head = OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send_bytes(head.encode() + b"5\r\nhello\r\n")
    await visit.pause()
    await visit.send_bytes(b"zz\r\nworld\r\n0\r\n\r\n")
    await visit.stall()


@route("truncated_gzip", "The gzip stream stops early, but the response does not.", 200, row=9)
async def _truncated_gzip(visit: RouteVisit) -> None:
    body = gzip.compress(bytes(range(256)) * 40)
    await visit.send_response(body[: len(body) // 2], headers="Content-Encoding: gzip\r\n")


@route("wrong_encoding", "A plain page that calls itself gzip.", 200, row=9)
async def _wrong_encoding(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, headers="Content-Encoding: gzip\r\n")


@route("junk_encoding", "Random bytes that call themselves gzip.", Fault.BAD_ENCODING, row=9)
async def _junk_encoding(visit: RouteVisit) -> None:
    await visit.send_response(bytes(range(256)), headers="Content-Encoding: gzip\r\n")


@route(
    "huge_chunk_size",
    "A chunk that calls itself larger than any number.",
    Fault.PROTOCOL,
    Fault.INCOMPLETE,
    row=5,
)
async def _huge_chunk_size(visit: RouteVisit) -> None:
    await visit.send_header("Transfer-Encoding: chunked\r\n")
    await visit.pause()
    await visit.send_bytes(b"F" * 40 + b"\r\nx")
    await visit.stall()


@route("bad_length", "A Content-Length that is not a number.", Fault.PROTOCOL, row=4)
async def _bad_length(visit: RouteVisit) -> None:
    await visit.send_header("Content-Length: many\r\n")
    await visit.send_bytes(PAGE)


@route("two_lengths", "Two Content-Lengths that differ.", Fault.PROTOCOL, row=4)
async def _two_lengths(visit: RouteVisit) -> None:
    await visit.send_header(f"Content-Length: {len(PAGE)}\r\nContent-Length: 5\r\n")
    await visit.send_bytes(PAGE)
